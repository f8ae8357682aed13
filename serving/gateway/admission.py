"""Admission: how many answers, and how much prompt text, may be in the server at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from models.contract.errors import OverloadedError
from serving.engine.drain_rate import DrainRate


class Admission:
    """Counts answers and prompt bytes from admission, before tokenising, until their response is over.

    Args:
        limit: most answers at once.
        max_prompt_bytes: most bytes of prompts at once.
        clock: monotonic seconds.
    """

    def __init__(
        self, limit: int, max_prompt_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._max_prompt_bytes = max_prompt_bytes
        self._clock = clock
        self._drain_rate = DrainRate()
        self._idle = asyncio.Event()
        self._idle.set()
        self.in_flight = 0
        self.prompt_bytes = 0

    @contextmanager
    def hold(self, answers: int, prompt_bytes: int) -> Iterator[None]:
        """Hold places for a request's answers and its prompts.

        Raises:
            OverloadedError: there are not enough; `retry_after` follows from how fast answers ended
                lately.
        """
        if self.in_flight + answers > self._limit:
            raise self._overloaded(
                f"The server holds {self.in_flight} answers and takes at most {self._limit}; "
                f"this request asks for {answers}.",
                self.in_flight + answers - self._limit,
            )
        # A server that holds nothing takes any request that its body limit let through.
        if self.in_flight and self.prompt_bytes + prompt_bytes > self._max_prompt_bytes:
            raise self._overloaded(
                f"The server holds {self.prompt_bytes:,} bytes of prompts and takes at most "
                f"{self._max_prompt_bytes:,}; this request brings {prompt_bytes:,}.",
                1,
            )
        self.in_flight += answers
        self.prompt_bytes += prompt_bytes
        self._idle.clear()
        try:
            yield
        finally:
            self.in_flight -= answers
            self.prompt_bytes -= prompt_bytes
            for _ in range(answers):
                self._drain_rate.finished(self._clock())
            if not self.in_flight:
                self._idle.set()

    def _overloaded(self, message: str, excess: int) -> OverloadedError:
        wait = self._drain_rate.retry_after(excess)
        return OverloadedError(message, retry_after=wait, remedy=f"Try again in {wait:.0f} s.")

    async def idle(self) -> None:
        """Return once no answer is in flight."""
        await self._idle.wait()
