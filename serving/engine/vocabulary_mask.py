"""Which ids may be chosen, packed as `decode_full` takes it."""

from __future__ import annotations

from functools import lru_cache

_WORD = 32


@lru_cache(maxsize=64)
def mask_without(vocab_size: int, ids: tuple[int, ...]) -> bytes:
    """A mask that allows every id but these.

    Args:
        vocab_size: ids are 0 … vocab_size − 1.
        ids: what is not allowed; ids outside the vocabulary change nothing.

    Returns:
        ⌈vocab_size / 32⌉ little-endian words of 32 bits; bit i of word w stands for id 32 w + i.
    """
    words = -(-vocab_size // _WORD)
    allowed = (1 << vocab_size) - 1
    for token_id in ids:
        if 0 <= token_id < vocab_size:
            allowed &= ~(1 << token_id)
    return allowed.to_bytes(words * _WORD // 8, "little")
