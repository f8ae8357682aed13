"""Deadline: the end of one call."""

from __future__ import annotations

import time


class Deadline:
    """Counts down from the moment it is made.

    Args:
        seconds: until the end; None is never.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def remaining(self) -> float | None:
        """Seconds left, at least 0; None without an end."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the end has come."""
        return self.remaining == 0.0

    def cap(self, seconds: float | None) -> float | None:
        """A limit that does not go beyond the end."""
        remaining = self.remaining
        if remaining is None or seconds is None:
            return remaining if seconds is None else seconds
        return min(seconds, remaining)
