"""AsyncLLMEngine: an engine on a thread of its own, for coroutines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from models.contract.errors import TokenmillError, UnavailableError
from models.contract.sampling_params import SamplingParams
from serving.engine.llm_engine import LLMEngine
from serving.engine.request_output import RequestOutput
from serving.engine_server.engine_health import EngineHealth
from serving.engine_server.engine_thread import EngineThread
from serving.engine_server.output_mailbox import OutputMailbox
from serving.engine_server.text_runner import TextRunner

T = TypeVar("T")

STOP_GRACE_SECONDS = 30.0
"""How long `stop` waits, after the drain, for the step that is running."""

TOKENIZE_CHARACTERS = 65_536
"""Most text that one job tokenizes, so that the steps of running streams come in between."""

_log = logging.getLogger(__name__)


class AsyncLLMEngine:
    """All model calls, steps as well as tokenizing, run on one thread, one after the other.

    Args:
        engine: belongs to this object from `start` on.
        runner: tokenizes and detokenizes; the same runner that the engine steps.

    Example:
        >>> await engine.start()
        >>> async with aclosing(engine.generate("a", [1, 2, 3], SamplingParams())) as outputs:
        ...     async for output in outputs:
        ...         print(output.text_delta, end="")
        >>> await engine.stop(drain_seconds=30)
    """

    def __init__(self, engine: LLMEngine, runner: TextRunner) -> None:
        self._engine = engine
        self._runner = runner
        self._streams: dict[str, OutputMailbox] = {}
        self._thread = EngineThread(engine, self._deliver, self._end_streams)
        self._started = False
        self._draining = False

    async def start(self) -> None:
        """Start the engine's thread; a second call does nothing."""
        if not self._started:
            self._started = True
            self._thread.start()

    async def stop(self, drain_seconds: float = 0.0) -> None:
        """Refuse new requests, let unfinished ones end, abort what is left, end the thread.

        Streams that are cut short get a last output with finish reason "abort".
        """
        self._draining = True
        if not self._started:
            return
        self._thread.stop(drain_seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_seconds + STOP_GRACE_SECONDS):
                await asyncio.shield(asyncio.wrap_future(self._thread.done))
        if not self._thread.join(timeout=1.0):
            _log.error("the engine's thread did not end: a step hangs")

    async def generate(
        self,
        request_id: str,
        prompt_ids: Sequence[int],
        params: SamplingParams,
        *,
        tenant: str = "",
        cap_max_tokens: bool = False,
        stream: bool = True,
    ) -> AsyncGenerator[RequestOutput, None]:
        """Outputs of one request; the last one has a finish reason.

        A reader that is slower than the model gets several steps' outputs merged. Closing the
        generator or cancelling its task aborts the request before the next step.

        Args:
            request_id, prompt_ids, params, tenant, cap_max_tokens, stream: see `LLMEngine.add_request`.

        Raises:
            InvalidRequestError, ContextLengthError, OverloadedError: the request is refused.
            UnavailableError: the engine is not running or drains.
            EngineError: the engine crashed. A request that failed alone ends with reason "error".
        """
        if self._draining:
            raise UnavailableError("The engine is shutting down.", remedy="Send the request again elsewhere.")
        mailbox = OutputMailbox(asyncio.get_running_loop())

        def add() -> None:
            self._engine.add_request(
                request_id,
                prompt_ids,
                params,
                tenant=tenant,
                cap_max_tokens=cap_max_tokens,
                stream=stream,
            )
            self._streams[request_id] = mailbox

        try:
            await self.between_steps(add)
            while True:
                output = await mailbox.get()
                yield output
                if output.finished:
                    return
        finally:
            self._abandon(request_id, mailbox)

    async def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, special-token strings taken as plain text."""
        rows: list[list[int]] = []
        for part in _parts(texts, TOKENIZE_CHARACTERS):
            rows += await self.between_steps(partial(self._runner.tokenize, part))
        return rows

    async def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids."""
        return await self.between_steps(lambda: self._runner.detokenize(ids))

    def health(self) -> EngineHealth:
        """Whether requests are taken and steps go on; callable from any thread."""
        waited = 0.0 if self._thread.idle else self._engine.clock() - self._thread.progress_at
        return EngineHealth(
            ready=self._thread.is_open and not self._draining,
            unfinished=self._engine.num_unfinished,
            seconds_without_progress=max(0.0, waited),
            error=self._thread.crashed,
        )

    async def between_steps(self, job: Callable[[], T]) -> T:
        """Run a job on the engine's thread, the only one that may call the runner."""
        return await asyncio.wrap_future(self._thread.submit(job))

    def _abandon(self, request_id: str, mailbox: OutputMailbox) -> None:
        """Abort a request unless it has ended or its id belongs to another stream."""

        def abort() -> None:
            if self._streams.get(request_id) is mailbox:
                del self._streams[request_id]
                self._engine.abort_request(request_id)

        with suppress(TokenmillError):
            self._thread.submit(abort)

    def _deliver(self, outputs: list[RequestOutput]) -> None:
        for output in outputs:
            mailbox = self._streams.get(output.request_id)
            if mailbox is None:
                continue
            mailbox.put(output)
            if output.finished:
                del self._streams[output.request_id]

    def _end_streams(self, error: Callable[[], TokenmillError]) -> None:
        for request_id, mailbox in self._streams.items():
            if self._thread.crashed is not None:
                mailbox.fail(error())
            elif output := self._engine.abort_request(request_id):
                mailbox.put(output)
        self._streams.clear()


def _parts(texts: Sequence[str], characters: int) -> Iterator[list[str]]:
    """Texts in order, as many at a time as have so many characters together, but at least one."""
    part: list[str] = []
    size = 0
    for text in texts:
        if part and size + len(text) > characters:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part
