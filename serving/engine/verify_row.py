"""A running sequence's turn in a `verify` call."""

from __future__ import annotations

from dataclasses import dataclass

from serving.engine.decode_row import DecodeRow


@dataclass(frozen=True, slots=True)
class VerifyRow:
    """The last id to run, and a guess of what follows it.

    Args:
        row: what to run; its block table covers positions 0 … length + len(draft_ids).
        draft_ids: guessed ids behind `row.last_id`; without any the row takes one step.
    """

    row: DecodeRow
    draft_ids: tuple[int, ...] = ()
