"""One KV block's book-keeping."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Block:
    """A block of KV memory as the engine sees it.

    Args:
        block_id: index into the arenas.
        ref_count: sequences that hold it.
        hash: chain hash of the tokens up to and including this block, once all its KV is written.
        token_ids: the block's own tokens, compared on a hit besides the hash.
    """

    block_id: int
    ref_count: int = 0
    hash: bytes | None = None
    token_ids: tuple[int, ...] = ()

    def forget(self) -> None:
        """Drop what it was known for."""
        self.hash = None
        self.token_ids = ()
