"""Admission: how many answers may be in the server at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from models.contract.errors import OverloadedError
from serving.engine.drain_rate import DrainRate


class Admission:
    """Counts answers from admission, before tokenising, until their response is over.

    Args:
        limit: most answers at once.
        clock: monotonic seconds.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._drain_rate = DrainRate()
        self._idle = asyncio.Event()
        self._idle.set()
        self.in_flight = 0

    @contextmanager
    def hold(self, answers: int) -> Iterator[None]:
        """Hold places for a request's answers.

        Raises:
            OverloadedError: there are not enough; `retry_after` follows from how fast answers ended
                lately.
        """
        if self.in_flight + answers > self._limit:
            wait = self._drain_rate.retry_after(self.in_flight + answers - self._limit)
            raise OverloadedError(
                f"The server holds {self.in_flight} answers and takes at most {self._limit}; "
                f"this request asks for {answers}.",
                retry_after=wait,
                remedy=f"Try again in {wait:.0f} s.",
            )
        self.in_flight += answers
        self._idle.clear()
        try:
            yield
        finally:
            self.in_flight -= answers
            for _ in range(answers):
                self._drain_rate.finished(self._clock())
            if not self.in_flight:
                self._idle.set()

    async def idle(self) -> None:
        """Return once no answer is in flight."""
        await self._idle.wait()
