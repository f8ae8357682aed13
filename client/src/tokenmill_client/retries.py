"""Retries: whether and when a failed attempt is repeated."""

from __future__ import annotations

import random

from tokenmill_client.deadline import Deadline
from tokenmill_client.errors import ClientError

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


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
            ClientError: `error` itself, if there must be no next attempt.
        """
        self._failures += 1
        if not error.retryable or self._failures > self._limit:
            raise error
        advised = error.retry_after
        growing = _FIRST_PAUSE * 2 ** (self._failures - 1) * random.uniform(0.75, 1.25)
        pause = min(advised if advised is not None else growing, _LONGEST_PAUSE)
        remaining = self._deadline.remaining
        if remaining is not None and pause >= remaining:
            raise error
        return pause
