"""MergedOutputs: the engine's outputs for all answers of one request, as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Self

from models.contract.errors import EngineError, UnavailableError
from serving.engine.finish_reason import FinishReason
from serving.engine.request_output import RequestOutput
from serving.gateway.gateway import Backend
from serving.gateway.planned_choice import PlannedChoice


class MergedOutputs:
    """An async context manager; leaving it, in whatever way, aborts the answers not yet complete.

    Args:
        backend: the engine to ask.
        request_id: prefix of the answers' ids in the engine.
        choices: the answers.
    """

    def __init__(self, backend: Backend, request_id: str, choices: Sequence[PlannedChoice]) -> None:
        self._backend = backend
        self._request_id = request_id
        self._choices = choices
        # Short, because the engine merges what a slow reader leaves there.
        self._queue: asyncio.Queue[tuple[int, RequestOutput] | Exception] = asyncio.Queue(len(choices))
        self._tasks: list[asyncio.Task[None]] = []
        self.unfinished = len(choices)

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._pump(choice)) for choice in self._choices]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def next(self, timeout: float | None = None) -> tuple[int, RequestOutput] | None:
        """The next output and its answer's index, or None if none came within `timeout` seconds.

        Raises:
            EngineError: an answer failed.
            UnavailableError: the server gave an answer up, as at the end of a drain.
            TokenmillError: whatever else the engine raised.
        """
        try:
            async with asyncio.timeout(timeout):
                item = await self._queue.get()
        except TimeoutError:
            return None
        if isinstance(item, Exception):
            raise item
        if item[1].finish_reason is not None:
            self._finish(item[1])
        return item

    def _finish(self, output: RequestOutput) -> None:
        self.unfinished -= 1
        if output.finish_reason is FinishReason.ERROR:
            cause = output.error or "no cause given"
            raise EngineError(f"A step of the model failed: {cause}.", remedy="Send the request again.")
        if output.finish_reason is FinishReason.ABORT:
            raise UnavailableError(
                "The server gave this answer up, it is shutting down.", remedy="Send the request again."
            )

    async def _pump(self, choice: PlannedChoice) -> None:
        request_id = f"{self._request_id}-{choice.index}"
        try:
            engine = self._backend.engine
            stream = engine.generate(request_id, choice.prompt_ids, choice.params, stream=choice.stream)
            async with aclosing(stream) as outputs:
                async for output in outputs:
                    await self._queue.put((choice.index, output))
                    if output.finish_reason is not None:
                        return
            raise EngineError("The answer ended without a reason.", remedy="Send the request again.")
        except Exception as error:
            await self._queue.put(error)
