"""RowBuilder: a sequence's share in a step, as the model runner gets it."""

from __future__ import annotations

from collections.abc import Iterable

from serving.engine.decode_row import DecodeRow
from serving.engine.engine_config import EngineConfig
from serving.engine.full_row import FullRow
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.sequence import Sequence
from serving.engine.verify_row import VerifyRow
from serving.engine.vocabulary_mask import mask_without


class RowBuilder:
    """Makes rows of sequences whose blocks are reserved.

    Args:
        config: sizes.
        eos_ids: the package's end ids, handed to the model as stop ids.
    """

    def __init__(self, config: EngineConfig, eos_ids: Iterable[int]) -> None:
        self._config = config
        self._eos_ids = tuple(eos_ids)

    def chunk(self, sequence: Sequence, budget: int) -> PrefillChunk:
        """The next piece of a prompt, at most `budget` ids."""
        start = sequence.num_computed
        end = min(sequence.prefill_target, start + budget)
        return PrefillChunk(
            request_id=sequence.request_id,
            token_ids=tuple(sequence.token_ids[start:end]),
            start=start,
            block_table=self._blocks(sequence, end),
            params=sequence.params,
            is_last=end == sequence.num_tokens,
        )

    def decode(self, sequence: Sequence, ahead: int = 1) -> DecodeRow:
        """A turn that writes `ahead` positions."""
        return DecodeRow(
            request_id=sequence.request_id,
            last_id=sequence.token_ids[-1],
            length=sequence.num_computed,
            block_table=self._blocks(sequence, sequence.num_computed + ahead),
            params=sequence.params,
            stop_ids=self._stop_ids(sequence),
        )

    def verify(self, sequence: Sequence, draft_ids: tuple[int, ...]) -> VerifyRow:
        """A turn that checks a guess."""
        return VerifyRow(self.decode(sequence, 1 + len(draft_ids)), draft_ids)

    def full(self, sequence: Sequence) -> FullRow:
        """A turn whose id is chosen from changed logits."""
        params = sequence.params
        # What nobody looks at is not sent: frequency and presence count the answer alone.
        first = 0 if params.repetition_penalty != 1 else sequence.num_prompt_tokens
        history = tuple(sequence.token_ids[first:]) if params.penalises else ()
        too_short = sequence.num_output_tokens < params.min_tokens
        return FullRow(
            row=self.decode(sequence),
            history=history,
            generated_from=min(len(history), sequence.num_prompt_tokens - first),
            allowed=mask_without(self._config.vocab_size, self._stop_ids(sequence)) if too_short else b"",
        )

    def _stop_ids(self, sequence: Sequence) -> tuple[int, ...]:
        eos_ids = () if sequence.params.ignore_eos else self._eos_ids
        return (*eos_ids, *sequence.params.stop_ids)

    def _blocks(self, sequence: Sequence, positions: int) -> tuple[int, ...]:
        return tuple(sequence.block_table[: self._config.num_blocks_for(positions)])
