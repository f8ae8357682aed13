"""OutputMailbox: carries one request's outputs from the engine's thread to a coroutine."""

from __future__ import annotations

import asyncio
import threading

from models.contract.errors import TokenmillError
from serving.engine.request_output import RequestOutput


class OutputMailbox:
    """Holds at most one output: what a slow reader has not fetched is merged.

    So memory per request is bounded by its own answer, whatever the reader does. `put` and `fail`
    belong to the engine's thread, `get` to the event loop.

    Args:
        loop: the reader's event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._arrived = asyncio.Event()
        self._output: RequestOutput | None = None
        self._error: TokenmillError | None = None
        self._signalled = False

    def put(self, output: RequestOutput) -> None:
        """Leave an output; does not wait."""
        with self._lock:
            self._output = self._output.merge(output) if self._output else output
        self._signal()

    def fail(self, error: TokenmillError) -> None:
        """Leave an error; the reader gets it after the output that is still there."""
        with self._lock:
            self._error = error
        self._signal()

    async def get(self) -> RequestOutput:
        """Wait for the next output.

        Raises:
            TokenmillError: what `fail` left.
        """
        while True:
            with self._lock:
                output, self._output, self._signalled = self._output, None, False
                error = self._error
                self._arrived.clear()
            if output is not None:
                return output
            if error is not None:
                raise error
            await self._arrived.wait()

    def _signal(self) -> None:
        """Wake the reader once, however much arrives before it looks."""
        with self._lock:
            if self._signalled:
                return
            self._signalled = True
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            return  # The loop is closed: nobody reads any more.
