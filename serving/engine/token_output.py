"""One generated token."""

from __future__ import annotations

from typing import NamedTuple


class TokenOutput(NamedTuple):
    """A generated id and what the model thought of it.

    Args:
        id: the id.
        logprob: its natural log-probability under the raw logits.
        top: the best ids with their log-probabilities, best first; as many as the request asked for.
    """

    id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()
