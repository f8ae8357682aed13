"""A piece of a prompt to run."""

from __future__ import annotations

from dataclasses import dataclass

from models.contract.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class PrefillChunk:
    """Ids to run at the positions from `start` on.

    Args:
        request_id: whose they are.
        token_ids: the ids.
        start: position of the first one; KV of all positions before is present.
        block_table: blocks of positions 0 … start + len(token_ids) − 1.
        params: how to sample the id that follows.
        is_last: whether that id is wanted; otherwise the next chunk follows, or a `decode_full` call
            that runs the last known id.
    """

    request_id: str
    token_ids: tuple[int, ...]
    start: int
    block_table: tuple[int, ...]
    params: SamplingParams
    is_last: bool
