"""TimedAnswers: what one timed call of an engine made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimedAnswers:
    """Answers to B prompts that ran as one batch.

    Args:
        first_seconds: from the call to every row's first id: the prompts' prefill.
        decode_seconds: for the ids behind the first ones.
        ids: [B][tokens], greedy unless the job samples.
    """

    first_seconds: float
    decode_seconds: float
    ids: list[list[int]]
