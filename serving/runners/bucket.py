"""Bucket: a shape that `decode_xla` is compiled for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """Rows and block-table columns of a compiled decode call.

    Args:
        rows: sequences.
        columns: blocks per sequence, those that the call's own steps write included.
    """

    rows: int
    columns: int

    @property
    def blocks(self) -> int:
        """Blocks that a call reads, whatever is live in them."""
        return self.rows * self.columns
