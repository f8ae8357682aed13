"""A running sequence's turn in a decode call."""

from __future__ import annotations

from dataclasses import dataclass

from models.contract.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class DecodeRow:
    """The last id to run and what is present before it.

    Args:
        request_id: whose turn it is.
        last_id: id to run at position `length`.
        length: positions whose KV is present.
        block_table: blocks of positions 0 … length + steps − 1.
        params: how to sample.
        stop_ids: ids that end the answer.
    """

    request_id: str
    last_id: int
    length: int
    block_table: tuple[int, ...]
    params: SamplingParams
    stop_ids: tuple[int, ...]
