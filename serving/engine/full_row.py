"""A running sequence's turn in a `decode_full` call."""

from __future__ import annotations

from dataclasses import dataclass

from serving.engine.decode_row import DecodeRow


@dataclass(frozen=True, slots=True)
class FullRow:
    """One step of a sequence whose id is chosen from changed logits.

    Penalties and biases are those of `row.params`.

    Args:
        row: what to run.
        history: ids that the penalties look at; empty if there is no penalty.
        generated_from: index of the answer's first id in `history`.
        allowed: vocabulary mask as `vocabulary_mask.mask_without` packs it; empty allows all ids.
    """

    row: DecodeRow
    history: tuple[int, ...] = ()
    generated_from: int = 0
    allowed: bytes = b""
