"""How fast requests leave, for telling callers when to come back."""

from __future__ import annotations

from collections import deque

_WINDOW = 32
_LONGEST = 60.0


class DrainRate:
    """Rate of finished requests over the last few."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_WINDOW)

    def finished(self, now: float) -> None:
        """A request left at `now`, in seconds."""
        self._times.append(now)

    def retry_after(self, excess: int) -> float:
        """Seconds until `excess` more requests will have left: 1 to 60, 1 while nothing is known."""
        if len(self._times) < 2 or self._times[-1] <= self._times[0]:
            return 1.0
        rate = (len(self._times) - 1) / (self._times[-1] - self._times[0])
        return min(_LONGEST, max(1.0, excess / rate))
