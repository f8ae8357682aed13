"""CachedStream: greedy tokens from a package's prefill and decode signatures, as an engine calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.contract.signatures import NO_ID
from serving.runners.local_runner import LocalRunner

STEPS_PER_CALL = 4
"""More than one, so that steps inside one call are tried as well as steps across calls."""


@dataclass(frozen=True, slots=True)
class CachedStream:
    """What one prompt's stream brought.

    Args:
        prompt: its ids.
        ids: generated ids, end ids not heeded.
        logprobs: of these ids.
    """

    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


def stream(
    runner: LocalRunner, prompts: Sequence[Sequence[int]], max_tokens: int, signature: str = "decode"
) -> list[CachedStream]:
    """Greedy continuations of prompts, in one batch if the KV blocks suffice, else one by one.

    Args:
        runner: the package; its KV memory is overwritten.
        prompts: ids, each with room for `max_tokens` more in the package's context.
        max_tokens: at least 1.
        signature: "decode", or "decode_xla" of a package that has it, which is compiled for the prompts'
            number and lengths.

    Raises:
        EngineError: a call failed.
    """
    size = runner.manifest.block_size
    needed = [-(-(len(prompt) + max_tokens) // size) for prompt in prompts]
    if len(prompts) > 1 and sum(needed) > runner.manifest.num_blocks - 1:
        return [one for prompt in prompts for one in stream(runner, [prompt], max_tokens, signature)]
    table = np.zeros((len(prompts), max(needed)), np.int32)
    ends = np.cumsum(needed)
    for row, (end, count) in enumerate(zip(ends, needed, strict=True)):
        table[row, :count] = np.arange(end - count, end) + 1
    return _run(runner, prompts, max_tokens, table, signature)


def _run(
    runner: LocalRunner,
    prompts: Sequence[Sequence[int]],
    max_tokens: int,
    table: np.ndarray,
    signature: str,
) -> list[CachedStream]:
    lengths = np.array([len(prompt) for prompt in prompts], np.int32)
    padded = np.zeros((len(prompts), int(lengths.max())), np.int32)
    for row, prompt in enumerate(prompts):
        padded[row, : len(prompt)] = prompt
    common = {"block_table": table, **_greedy(len(prompts))}
    first = runner.call("prefill", ids=padded, lengths=lengths, start=np.zeros_like(lengths), **common)
    ids, logprobs = [first["next_id"][:, None]], [first["logprob"][:, None]]
    done = 1
    while done < max_tokens:
        steps = min(STEPS_PER_CALL if done > 1 else 1, max_tokens - done)
        result = runner.call(
            signature,
            last_id=ids[-1][:, -1],
            length=lengths + done - 1,
            stop_ids=np.full((len(prompts), 1), NO_ID, np.int32),
            steps=np.int32(steps),
            **common,
        )
        ids.append(result["ids"])
        logprobs.append(result["logprobs"])
        done += steps
    rows = zip(prompts, np.concatenate(ids, 1), np.concatenate(logprobs, 1), strict=True)
    return [
        CachedStream(tuple(prompt), tuple(row.tolist()), tuple(scores.tolist()))
        for prompt, row, scores in rows
    ]


def _greedy(rows: int) -> dict[str, Any]:
    return {
        "temperature": np.zeros(rows, np.float32),
        "top_k": np.zeros(rows, np.int32),
        "top_p": np.ones(rows, np.float32),
        "min_p": np.zeros(rows, np.float32),
        "seed": np.zeros(rows, np.int64),
    }
