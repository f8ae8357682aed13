"""Who runs in the next step.

Every step mixes one turn of all decoding sequences with pieces of prompts under a token budget, so
a long prompt never stalls running streams. Order is first come, first served; when blocks run out,
the youngest running sequence loses its blocks and is recomputed later (preemption by recompute).
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable

from serving.engine.block_manager import BlockManager
from serving.engine.decode_row import DecodeRow
from serving.engine.engine_config import EngineConfig
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.sequence import Sequence
from serving.engine.sequence_status import SequenceStatus


class Scheduler:
    """Waiting and running sequences of one replica, both in order of arrival.

    Args:
        config: limits.
        eos_ids: the package's end ids, handed to the model as stop ids.
    """

    def __init__(self, config: EngineConfig, eos_ids: Iterable[int] = ()) -> None:
        self._config = config
        self._eos_ids = tuple(eos_ids)
        self.blocks = BlockManager(config)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.num_preemptions = 0

    def add(self, sequence: Sequence) -> None:
        """Put a new sequence at the end of the queue."""
        self.waiting.append(sequence)

    def schedule(self) -> SchedulerOutput:
        """Choose the next step's rows and reserve their blocks.

        A sequence whose last step failed runs alone, so that one that makes steps fail takes
        nobody with it.
        """
        suspect = self._suspect()
        rows = [suspect] if suspect else list(self.running)
        decoding, steps = self._reserve([row for row in rows if not row.is_prefilling])
        budget = self._config.max_num_batched_tokens - steps * len(decoding)
        if decoding:
            budget = min(budget, self._config.mixed_prefill_tokens)
        return SchedulerOutput(
            prefills=tuple(self._prefills(rows, budget, admit=suspect is None)),
            decodes=tuple(self._decode_row(sequence, steps) for sequence in decoding),
            steps=steps,
        )

    def finish(self, sequence: Sequence) -> None:
        """Take a sequence out, whatever its phase, and free its blocks."""
        if sequence.status is SequenceStatus.RUNNING:
            self.running.remove(sequence)
        elif sequence.status is SequenceStatus.WAITING:
            self.waiting.remove(sequence)
        self.blocks.deallocate(sequence)
        sequence.status = SequenceStatus.FINISHED

    def preempt(self, sequence: Sequence) -> None:
        """Take a running sequence's blocks and put it back into the queue, by its arrival."""
        self.running.remove(sequence)
        self.blocks.deallocate(sequence)
        sequence.rewind()
        insort(self.waiting, sequence, key=_arrival)
        self.num_preemptions += 1

    def restart(self) -> None:
        """All KV is gone: every running sequence is prefilled again."""
        for sequence in reversed(self.running.copy()):
            self.preempt(sequence)
        self.blocks.clear_cache()

    def _suspect(self) -> Sequence | None:
        for sequence in self.running:
            if sequence.num_failures:
                return sequence
        return self._admit() if self.waiting and self.waiting[0].num_failures else None

    def _reserve(self, rows: list[Sequence]) -> tuple[list[Sequence], int]:
        steps = self._decode_steps(rows)
        if sum(self._missing(row, steps) for row in rows) > self.blocks.num_free:
            steps = 1
        kept = []
        for row in rows:
            if self._make_room(row, steps):
                self.blocks.extend(row, row.num_computed + steps)
                kept.append(row)
        return kept, steps

    def _make_room(self, row: Sequence, steps: int) -> bool:
        """Preempt from the youngest on until the row's next positions fit; False if it fell itself."""
        while row.status is SequenceStatus.RUNNING and self._missing(row, steps) > self.blocks.num_free:
            self.preempt(self.running[-1])
        return row.status is SequenceStatus.RUNNING

    def _missing(self, row: Sequence, steps: int) -> int:
        return self.blocks.missing(row, row.num_computed + steps)

    def _decode_steps(self, rows: list[Sequence]) -> int:
        """Steps of a decode call: one while anyone waits for a first token, then a gentle ramp."""
        if not rows or self.waiting or any(sequence.is_prefilling for sequence in self.running):
            return 1
        return min(
            self._config.max_decode_steps,
            min(row.num_output_tokens for row in rows),
            max(row.num_remaining for row in rows),
            min(self._config.max_length - row.num_computed for row in rows),
        )

    def _prefills(self, rows: list[Sequence], budget: int, *, admit: bool) -> list[PrefillChunk]:
        chunks: list[PrefillChunk] = []
        queue = deque(row for row in rows if row.is_prefilling and row.status is SequenceStatus.RUNNING)
        while budget > 0:
            sequence = queue.popleft() if queue else self._admit_sound() if admit else None
            if sequence is None:
                break
            chunks.append(self._chunk(sequence, budget))
            budget -= len(chunks[-1].token_ids)
        return chunks

    def _admit_sound(self) -> Sequence | None:
        return self._admit() if self.waiting and not self.waiting[0].num_failures else None

    def _admit(self) -> Sequence | None:
        """Let the head of the queue run if there is a place and room.

        One block per running sequence stays free, or the newcomer would soon be preempted.
        """
        if len(self.running) >= self._config.max_num_seqs:
            return None
        if not self.waiting or not self.blocks.can_allocate(self.waiting[0], spare=len(self.running)):
            return None
        sequence = self.waiting.popleft()
        self.blocks.allocate(sequence)
        sequence.status = SequenceStatus.RUNNING
        self.running.append(sequence)
        return sequence

    def _chunk(self, sequence: Sequence, budget: int) -> PrefillChunk:
        start = sequence.num_computed
        end = min(sequence.prefill_target, start + budget)
        return PrefillChunk(
            request_id=sequence.request_id,
            token_ids=tuple(sequence.token_ids[start:end]),
            start=start,
            block_table=tuple(sequence.block_table[: self._config.num_blocks_for(end)]),
            params=sequence.params,
            is_last=end == sequence.prefill_target,
        )

    def _decode_row(self, sequence: Sequence, steps: int) -> DecodeRow:
        end = sequence.num_computed + steps
        eos_ids = () if sequence.params.ignore_eos else self._eos_ids
        return DecodeRow(
            request_id=sequence.request_id,
            last_id=sequence.token_ids[-1],
            length=sequence.num_computed,
            block_table=tuple(sequence.block_table[: self._config.num_blocks_for(end)]),
            params=sequence.params,
            stop_ids=(*eos_ids, *sequence.params.stop_ids),
        )


def _arrival(sequence: Sequence) -> int:
    return sequence.arrival
