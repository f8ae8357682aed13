"""Retries: whether and when a failed attempt is repeated."""

from __future__ import annotations

import random

from tokenmill_client.deadline import Deadline
from tokenmill_client.errors import ClientError

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_LONGEST_ADVICE = 60.0


class Retries:
    """Counts the attempts of one call.

    Args:
        limit: most repetitions.
        deadline: end of the call; a pause never goes beyond it.
    """

    def __init__(self, limit: int, deadline: Deadline) -> None:
        self._limit = limit
        self._deadline = deadline
        self._failures = 0

    def pause(self, error: ClientError) -> float:
        """Seconds to wait before the next attempt: what the server advised, else twice as long
        each time with some chance in it, so that clients do not come back all at once.

        Raises:
            ClientError: `error` itself, if there must be no next attempt, or only after so long
                that the caller should decide; to come back earlier than advised would be in vain.
        """
        self._failures += 1
        if not error.retryable or self._failures > self._limit:
            raise error
        advised = error.retry_after
        growing = _FIRST_PAUSE * 2 ** (self._failures - 1) * random.uniform(0.75, 1.25)
        pause = min(growing, _LONGEST_PAUSE) if advised is None else advised
        remaining = self._deadline.remaining
        if pause > _LONGEST_ADVICE or (remaining is not None and pause >= remaining):
            raise error
        return pause
