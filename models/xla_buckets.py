"""Shapes that a package's compiled decode is meant for."""

from __future__ import annotations

from collections.abc import Mapping

_LENGTHS = (128, 256, 512, 1024)
_BATCHES = (16, 8, 4)


def xla_buckets(
    profile: str, max_length: int, block_size: int, memory: Mapping[str, int], token_bytes: int
) -> tuple[tuple[int, int], ...]:
    """(rows, tokens of a block table) pairs, the most useful ones first.

    Every pair costs seconds of compilation per load, so there are few; other calls run without XLA.

    Args:
        profile: "off", "latency" or "throughput".
        max_length: most tokens of prompt and answer together.
        block_size: tokens per KV block; lengths are whole blocks.
        memory: bytes of "weights", "kv" and the "workspace" of scoring.
        token_bytes: of a token's keys and values.

    A call of several rows gathers keys and values beside the KV memory, and TensorFlow's allocator never
    gives that back: at most half of what weights and KV memory take, or as much as scoring works with.
    More rows go through in several calls.
    """
    most_tokens = max((memory["weights"] + memory["kv"]) // 2, memory["workspace"]) // token_bytes
    batches = {"off": (), "latency": (1,), "throughput": _BATCHES}[profile]
    lengths = {min(length, max_length) for length in _LENGTHS}
    if profile == "latency":
        lengths |= {min(2 * _LENGTHS[-1], max_length)}
    whole = sorted({-(-length // block_size) * block_size for length in lengths})
    pairs = [
        (rows, length) for length in whole for rows in batches if rows * length <= max(length, most_tokens)
    ]
    # A lone row is common in a package for many, too.
    return tuple(pairs + [(1, length) for length in whole[:2] if profile == "throughput"])
