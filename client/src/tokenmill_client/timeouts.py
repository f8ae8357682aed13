"""Timeouts: the four limits of one call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """Limits in seconds; None is no limit.

    Args:
        connect: for the connection to stand.
        first_byte: from the request to the first byte of the response. The server sends its
            headers with the first token, or after five seconds if that takes longer.
        idle: between two pieces of the response; keepalives, every 10 s, count as pieces.
        total: for the whole call, retries included. It is checked whenever something arrives, so
            it can be exceeded by the time until the next piece.
    """

    connect: float | None = 5.0
    first_byte: float | None = 60.0
    idle: float | None = 60.0
    total: float | None = None
