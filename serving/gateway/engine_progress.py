"""EngineProgress: tells a slow engine from a stalled one."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable


class EngineProgress:
    """The engine is stalled if someone has waited for it too long and it ran no step meanwhile.

    A long queue is no stall (steps go on), nor is a client that reads slowly (nobody waits for the
    engine).

    Args:
        timeout: seconds without a step that make a stall.
        last_step_at: when the engine last finished a step, None before the first.
        clock: the clock that `last_step_at` uses, in seconds.
    """

    def __init__(
        self,
        timeout: float,
        last_step_at: Callable[[], float | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout = timeout
        self._last_step_at = last_step_at
        self._clock = clock
        self._waiting: dict[Hashable, float] = {}

    def begin(self, waiter: Hashable) -> None:
        """`waiter` waits for the engine from now on; no effect if it does already."""
        self._waiting.setdefault(waiter, self._clock())

    def end(self, waiter: Hashable) -> None:
        """`waiter` got something or gave up."""
        self._waiting.pop(waiter, None)

    @property
    def stalled(self) -> bool:
        """Whether the engine is stalled now."""
        oldest = min(self._waiting.values(), default=None)
        if oldest is None:
            return False
        since = max(oldest, self._last_step_at() or oldest)
        return self._clock() - since > self._timeout
