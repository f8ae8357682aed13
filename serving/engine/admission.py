"""Bounds the waiting queue."""

from __future__ import annotations

from models.contract.errors import OverloadedError
from serving.engine.drain_rate import DrainRate
from serving.engine.engine_config import EngineConfig
from serving.engine.scheduler import Scheduler


class Admission:
    """Refuses requests while too many requests or prompt tokens wait.

    Args:
        config: the bounds.
        scheduler: what waits and runs.
    """

    def __init__(self, config: EngineConfig, scheduler: Scheduler) -> None:
        self._config = config
        self._scheduler = scheduler
        self._drain_rate = DrainRate()

    def finished(self, now: float) -> None:
        """A request left at `now`, in seconds."""
        self._drain_rate.finished(now)

    def has_room(self, prompt_tokens: int) -> bool:
        """Whether one more request may wait; an empty queue always has room."""
        waiting_tokens = sum(sequence.num_tokens for sequence in self._scheduler.waiting)
        fits = not waiting_tokens or waiting_tokens + prompt_tokens <= self._config.max_waiting_tokens
        return self._excess() < 1 and fits

    def check(self, prompt_tokens: int) -> None:
        """Let one more request in.

        Raises:
            OverloadedError: too much is waiting; `retry_after` follows the measured drain rate.
        """
        if self.has_room(prompt_tokens):
            return
        retry_after = self._drain_rate.retry_after(max(1, self._excess()))
        raise OverloadedError(
            f"{len(self._scheduler.waiting)} requests are waiting already.",
            retry_after=retry_after,
            remedy=f"Try again in {retry_after:.0f} s.",
        )

    def _excess(self) -> int:
        """Requests that must leave before one more may come."""
        present = len(self._scheduler.waiting) + len(self._scheduler.running)
        return present - self._config.max_num_seqs - self._config.max_waiting + 1
