"""CompletionsEndpoint: `POST /v1/completions`, streaming and not."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from models.contract.errors import AbortedError, TokenmillError
from serving.engine.request_output import RequestOutput
from serving.gateway.choice_builder import ChoiceBuilder
from serving.gateway.completion_request import CompletionRequest
from serving.gateway.disconnect import run_until_disconnect
from serving.gateway.error_body import error_body, internal_error_body
from serving.gateway.event_stream import EventStream
from serving.gateway.gateway import Backend, Gateway
from serving.gateway.merged_outputs import MergedOutputs
from serving.gateway.planned_choice import PlannedChoice, plan_choices
from serving.gateway.request_body import read_json
from serving.gateway.request_record import RequestRecord

logger = logging.getLogger(__name__)


class CompletionsEndpoint:
    """An ASGI endpoint over the gateway's engine.

    Args:
        gateway: state and limits.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a client that leaves ends it in every phase."""
        record = RequestRecord.of(scope)
        config = self._gateway.config
        try:
            self._gateway.backend(None)
            body = await read_json(scope, receive, config.max_body_bytes)
            request = CompletionRequest.parse(body, config.max_choices)
            backend = self._gateway.backend(request.model)
            answers = request.n * len(request.prompt)
            with self._gateway.admission.hold(answers, request.prompt_bytes):
                await run_until_disconnect(
                    receive, send, lambda send: self._answer(request, backend, record, send)
                )
        except AbortedError:
            self._gateway.metrics.disconnected("decode" if record.completion_tokens else "waiting")
            raise
        except TokenmillError as error:
            self._gateway.metrics.rejected(error.code)
            raise

    async def _answer(
        self, request: CompletionRequest, backend: Backend, record: RequestRecord, send: Send
    ) -> None:
        choices = await plan_choices(request, backend)
        record.prompt_tokens = sum(len(choice.prompt_ids) for choice in choices[:: request.n])
        completion = _Completion(request, backend, choices, record)
        async with MergedOutputs(backend, completion.id, choices) as outputs:
            if request.stream:
                await self._stream(completion, outputs, send)
            else:
                await self._whole(completion, outputs, send)

    async def _whole(self, completion: _Completion, outputs: MergedOutputs, send: Send) -> None:
        collected: list[list[RequestOutput]] = [[] for _ in completion.builders]
        while outputs.unfinished:
            item = await outputs.next()
            if item:
                index, output = item
                completion.count(output)
                collected[index].append(output)
        entries = [builder.entry(part) for builder, part in zip(completion.builders, collected, strict=True)]
        body = orjson.dumps(completion.body(entries, usage=completion.usage()))
        response = Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})
        await response({"type": "http"}, _nothing, send)

    async def _stream(self, completion: _Completion, outputs: MergedOutputs, send: Send) -> None:
        first = await outputs.next(self._gateway.config.headers_grace)
        stream = EventStream(send, self._gateway.config.write_timeout)
        await stream.open()
        try:
            async for chunk in self._chunks(completion, outputs, first):
                await (stream.ping() if chunk is None else stream.data(chunk))
        except AbortedError:
            raise
        except TokenmillError as error:
            completion.record.error = error.code
            await stream.data(error_body(error))
        except Exception:
            logger.exception("stream failed", extra={"request_id": completion.record.request_id})
            completion.record.error = "internal"
            await stream.data(internal_error_body(completion.record.request_id))
        await stream.done()

    async def _chunks(
        self, completion: _Completion, outputs: MergedOutputs, item: tuple[int, RequestOutput] | None
    ) -> AsyncIterator[dict[str, Any] | None]:
        """Chunks of a stream in order; None where a keepalive is due."""
        request = completion.request
        no_usage = {"usage": None} if request.include_usage else {}
        while item or outputs.unfinished:
            if item:
                index, output = item
                completion.count(output)
                builder = completion.builders[index]
                if builder.says_something(output):
                    yield completion.body([builder.entry([output])], **no_usage)
            elif self._gateway.fault is None:
                yield None
            if not outputs.unfinished:
                break
            item = await outputs.next(self._gateway.config.ping_interval)
        if request.include_usage:
            yield completion.body([], usage=completion.usage())


class _Completion:
    """What all chunks of one response have in common."""

    def __init__(
        self,
        request: CompletionRequest,
        backend: Backend,
        choices: list[PlannedChoice],
        record: RequestRecord,
    ) -> None:
        self.request = request
        self.record = record
        self.id = f"cmpl-{uuid.uuid4().hex}"
        vocab = backend.model.vocab
        self.builders = [ChoiceBuilder(choice, vocab, request.return_token_ids) for choice in choices]
        self._head = {
            "id": self.id,
            "object": "text_completion",
            "created": int(time.time()),
            "model": backend.model.name,
            "system_fingerprint": backend.model.fingerprint,
        }

    def body(self, entries: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """A response or chunk with these choices."""
        return {**self._head, "choices": entries, **more}

    def count(self, output: RequestOutput) -> None:
        """Add an output's tokens to the usage."""
        self.record.completion_tokens += len(output.tokens)

    def usage(self) -> dict[str, int]:
        """Tokens so far; a prompt counts once, whatever `n`."""
        prompt, completion = self.record.prompt_tokens, self.record.completion_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }


async def _nothing() -> dict[str, Any]:
    return {"type": "http.disconnect"}
