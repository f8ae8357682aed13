"""SchedulerOutput → arrays of the package's signatures, and their outputs → StepResult."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.contract.sampling_params import SamplingParams
from models.contract.signatures import NO_ID, NULL_BLOCK
from serving.engine.decode_row import DecodeRow
from serving.engine.full_row import FullRow
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.token_output import TokenOutput
from serving.engine.verify_row import VerifyRow

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
        **_last_ids(rows),
        "block_table": _block_table(rows),
        **_sampling_arrays([row.params for row in rows]),
        "stop_ids": _stop_ids(rows),
        "steps": np.array(steps, np.int32),
    }


def full_arrays(fulls: Sequence[FullRow]) -> Arrays:
    """Inputs of `decode_full`: those of `decode` without steps, then what changes the logits.

    Widths are 0 or powers of two, so that executors meet few shapes: history [B, L], generated_from
    [B], penalties [B, 3], bias_ids and bias_values [B, A]; allowed [B, W] is 0 or the whole
    vocabulary wide.
    """
    rows = [full.row for full in fulls]
    params = [row.params for row in rows]
    history = [full.history for full in fulls]
    biases = [p.logit_bias for p in params]
    width = _power_of_two(max(map(len, biases)))
    return {
        **_last_ids(rows),
        "block_table": _block_table(rows),
        **_sampling_arrays(params),
        "stop_ids": _stop_ids(rows),
        "history": _pad(history, NO_ID, _power_of_two(max(map(len, history)))),
        "generated_from": np.array([full.generated_from for full in fulls], np.int32),
        "penalties": np.array(
            [(p.repetition_penalty, p.frequency_penalty, p.presence_penalty) for p in params], np.float32
        ),
        "bias_ids": _pad([[token for token, _ in bias] for bias in biases], NO_ID, width),
        "bias_values": _pad([[value for _, value in bias] for bias in biases], 0, width, np.float32),
        "allowed": _allowed(fulls),
    }


def verify_arrays(verifies: Sequence[VerifyRow]) -> Arrays:
    """Inputs of `verify`: last_id and length [B], draft_ids [B, D] padded with 0, draft_lengths [B], …"""
    rows = [verify.row for verify in verifies]
    return {
        **_last_ids(rows),
        "draft_ids": _pad([verify.draft_ids for verify in verifies], 0),
        "draft_lengths": np.array([len(verify.draft_ids) for verify in verifies], np.int32),
        "block_table": _block_table(rows),
        **_sampling_arrays([row.params for row in rows]),
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


def full_tokens(fulls: Sequence[FullRow], outputs: Arrays) -> list[TokenOutput]:
    """The id of each row's one step."""
    return [tokens[0] for tokens in decode_tokens([full.row for full in fulls], outputs)]


def verify_tokens(verifies: Sequence[VerifyRow], outputs: Arrays) -> list[tuple[TokenOutput, ...]]:
    """Of each row the guessed ids that were right, and the id behind them."""
    found = []
    for i, verify in enumerate(verifies):
        accepted = int(outputs["accepted"][i])
        ids = (*verify.draft_ids[:accepted], outputs["next_id"][i])
        found.append(
            tuple(
                _token(
                    verify.row.params,
                    token_id,
                    outputs["logprobs"][i, column],
                    outputs["top_ids"][i, column],
                    outputs["top_logprobs"][i, column],
                )
                for column, token_id in enumerate(ids)
            )
        )
    return found


def _token(
    params: SamplingParams,
    token_id: np.int32 | int,
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


def _last_ids(rows: Sequence[DecodeRow]) -> Arrays:
    return {
        "last_id": np.array([row.last_id for row in rows], np.int32),
        "length": np.array([row.length for row in rows], np.int32),
    }


def _block_table(rows: Sequence[DecodeRow]) -> NDArray[Any]:
    return _pad([row.block_table for row in rows], NULL_BLOCK)


def _stop_ids(rows: Sequence[DecodeRow]) -> NDArray[Any]:
    return _pad([row.stop_ids or (NO_ID,) for row in rows], NO_ID)


def _allowed(fulls: Sequence[FullRow]) -> NDArray[np.int32]:
    """Mask words [B, W]; a row without a mask allows all, W is 0 if none has one."""
    words = max(len(full.allowed) for full in fulls) // 4
    array = np.full((len(fulls), words), -1, np.int32)
    for target, full in zip(array, fulls, strict=True):
        if full.allowed:
            target[:] = np.frombuffer(full.allowed, "<i4")
    return array


def _power_of_two(count: int) -> int:
    """The least power of two that is not below, 0 for 0."""
    return 1 << (count - 1).bit_length() if count else 0


def _pad(
    rows: Sequence[Sequence[float]], fill: int, width: int | None = None, dtype: type = np.int32
) -> NDArray[Any]:
    """Rows as one [B, width] array, by default as wide as the longest, filled up with `fill`."""
    array = np.full((len(rows), max(map(len, rows)) if width is None else width), fill, dtype)
    for target, row in zip(array, rows, strict=True):
        target[: len(row)] = row
    return array
