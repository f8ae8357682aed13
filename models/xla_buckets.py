"""Shapes that a package's compiled decode is meant for."""

from __future__ import annotations

_LENGTHS = (128, 256, 512, 1024)
_BATCHES = (16, 8, 4)
_GATHERED = 0.6
"""Of the KV memory: what a compiled call of several rows gathers lies beside it, and TensorFlow's
allocator never gives it back. More rows than fit go through the package in several calls."""


def xla_buckets(
    profile: str, max_length: int, block_size: int, num_blocks: int
) -> tuple[tuple[int, int], ...]:
    """(rows, tokens of a block table) pairs, the most useful ones first.

    Every pair costs seconds of compilation per load, so there are few; other calls run without XLA.

    Args:
        profile: "off", "latency" or "throughput".
        max_length: most tokens of prompt and answer together.
        block_size: tokens per KV block; lengths are whole blocks.
        num_blocks: blocks of KV memory.
    """
    batches = {"off": (), "latency": (1,), "throughput": _BATCHES}[profile]
    lengths = {min(length, max_length) for length in _LENGTHS}
    if profile == "latency":
        lengths |= {min(2 * _LENGTHS[-1], max_length)}
    whole = sorted({-(-length // block_size) * block_size for length in lengths})
    most = _GATHERED * num_blocks * block_size
    pairs = [(rows, length) for length in whole for rows in batches if rows == 1 or rows * length <= most]
    # A lone row is common in a package for many, too.
    return tuple(pairs + [(1, length) for length in whole[:2] if profile == "throughput"])
