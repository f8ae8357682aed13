"""SchedulerOutput → arrays of the package's signatures, and their outputs → StepResult."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.contract.sampling_params import SamplingParams
from models.contract.signatures import NO_ID, NULL_BLOCK
from serving.engine.decode_row import DecodeRow
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.token_output import TokenOutput

Arrays = dict[str, NDArray[Any]]

_CHEAP_PADDING = 32
"""Padded positions of a prefill call that cost less than another call."""


def prefill_groups(chunks: Sequence[PrefillChunk]) -> list[list[int]]:
    """Indices of chunks to run in one call each: of like lengths, so that little is padding.

    The longest come first; a chunk joins a group if padding it costs at most its own length or
    32 positions.
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(chunks)), key=lambda i: -len(chunks[i].token_ids)):
        length = len(chunks[index].token_ids)
        longest = len(chunks[groups[-1][0]].token_ids) if groups else 0
        if groups and longest - length <= max(length, _CHEAP_PADDING):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def prefill_arrays(chunks: Sequence[PrefillChunk]) -> Arrays:
    """Inputs of `prefill`: ids [B, T] padded with 0, lengths and start [B], block_table [B, K], …"""
    return {
        "ids": _pad([chunk.token_ids for chunk in chunks], 0),
        "lengths": np.array([len(chunk.token_ids) for chunk in chunks], np.int32),
        "start": np.array([chunk.start for chunk in chunks], np.int32),
        "block_table": _pad([chunk.block_table for chunk in chunks], NULL_BLOCK),
        **_sampling_arrays([chunk.params for chunk in chunks]),
    }


def decode_arrays(rows: Sequence[DecodeRow], steps: int) -> Arrays:
    """Inputs of `decode`: last_id and length [B], block_table [B, K], stop_ids [B, E ≥ 1], steps, …"""
    return {
        "last_id": np.array([row.last_id for row in rows], np.int32),
        "length": np.array([row.length for row in rows], np.int32),
        "block_table": _pad([row.block_table for row in rows], NULL_BLOCK),
        **_sampling_arrays([row.params for row in rows]),
        "stop_ids": _pad([row.stop_ids or (NO_ID,) for row in rows], NO_ID),
        "steps": np.array(steps, np.int32),
    }


def prefill_tokens(chunks: Sequence[PrefillChunk], outputs: Arrays) -> list[TokenOutput]:
    """The id that follows each chunk."""
    return [
        _token(
            chunk.params,
            outputs["next_id"][row],
            outputs["logprob"][row],
            outputs["top_ids"][row],
            outputs["top_logprobs"][row],
        )
        for row, chunk in enumerate(chunks)
    ]


def decode_tokens(rows: Sequence[DecodeRow], outputs: Arrays) -> list[tuple[TokenOutput, ...]]:
    """The ids of each row, up to and including its first stop id."""
    steps = outputs["ids"].shape[1]
    return [
        tuple(
            _token(
                row.params,
                outputs["ids"][i, step],
                outputs["logprobs"][i, step],
                outputs["top_ids"][i, step],
                outputs["top_logprobs"][i, step],
            )
            for step in range(min(steps, int(outputs["finished_at"][i]) + 1))
        )
        for i, row in enumerate(rows)
    ]


def _token(
    params: SamplingParams,
    token_id: np.int32,
    logprob: np.float32,
    top_ids: NDArray[np.int32],
    top_logprobs: NDArray[np.float32],
) -> TokenOutput:
    wanted = params.logprobs or 0
    pairs = zip(top_ids[:wanted].tolist(), top_logprobs[:wanted].tolist(), strict=True)
    return TokenOutput(int(token_id), float(logprob), tuple(pair for pair in pairs if pair[0] != NO_ID))


def _sampling_arrays(params: Sequence[SamplingParams]) -> Arrays:
    return {
        "temperature": np.array([p.temperature for p in params], np.float32),
        "top_k": np.array([p.top_k for p in params], np.int32),
        "top_p": np.array([p.top_p for p in params], np.float32),
        "min_p": np.array([p.min_p for p in params], np.float32),
        "seed": np.array([p.seed for p in params], np.int64),
    }


def _pad(rows: Sequence[Sequence[int]], fill: int) -> NDArray[np.int32]:
    """Rows as one [B, longest] int32 array, filled up with `fill`."""
    array = np.full((len(rows), max(map(len, rows))), fill, np.int32)
    for target, row in zip(array, rows, strict=True):
        target[: len(row)] = row
    return array
