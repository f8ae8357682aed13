"""What a step runs: the only thing that crosses from the engine to a model runner."""

from __future__ import annotations

from dataclasses import dataclass

from serving.engine.decode_row import DecodeRow
from serving.engine.full_row import FullRow
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.verify_row import VerifyRow


@dataclass(frozen=True, slots=True)
class SchedulerOutput:
    """Independent rows of one step; no row reads what another one writes.

    Args:
        prefills: pieces of prompts.
        decodes: running sequences.
        steps: tokens to generate per row of `decodes`.
        fulls: running sequences that choose from changed logits, one token each.
        verifies: running sequences that guess ahead; beside them there are no `decodes`.
    """

    prefills: tuple[PrefillChunk, ...] = ()
    decodes: tuple[DecodeRow, ...] = ()
    steps: int = 1
    fulls: tuple[FullRow, ...] = ()
    verifies: tuple[VerifyRow, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to run."""
        return not self.prefills and not self.num_decoding

    @property
    def num_decoding(self) -> int:
        """Running sequences that take part."""
        return len(self.decodes) + len(self.fulls) + len(self.verifies)

    @property
    def num_prefill_tokens(self) -> int:
        """Prompt tokens to run."""
        return sum(len(chunk.token_ids) for chunk in self.prefills)

    @property
    def request_ids(self) -> tuple[str, ...]:
        """Requests that take part."""
        rows = (*self.decodes, *(full.row for full in self.fulls), *(verify.row for verify in self.verifies))
        prefills = tuple(chunk.request_id for chunk in self.prefills)
        return prefills + tuple(row.request_id for row in rows)
