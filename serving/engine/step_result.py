"""What a model runner brings back from a step."""

from __future__ import annotations

from dataclasses import dataclass

from serving.engine.token_output import TokenOutput


@dataclass(frozen=True, slots=True)
class StepResult:
    """Results of a SchedulerOutput, row by row in its order.

    Args:
        prefills: the id that follows each chunk.
        decodes: 1 to `steps` ids per row; fewer only after one of the row's stop ids.
        nonce: boot nonce of the last call; another one than before means that all KV is gone.
        prefill_seconds: time the prefill calls took, 0 without any.
        decode_seconds: time the calls of running sequences took, 0 without any.
        fulls: one id per row.
        verifies: per row the guessed ids that were right, and the id that follows them.
    """

    prefills: tuple[TokenOutput, ...]
    decodes: tuple[tuple[TokenOutput, ...], ...]
    nonce: int
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    fulls: tuple[TokenOutput, ...] = ()
    verifies: tuple[tuple[TokenOutput, ...], ...] = ()
