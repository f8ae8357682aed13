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
from serving.engine.decode_plan import DecodePlan
from serving.engine.engine_config import EngineConfig
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.row_builder import RowBuilder
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.sequence import Sequence
from serving.engine.sequence_status import SequenceStatus
from serving.engine.speculation import Speculation


class Scheduler:
    """Waiting and running sequences of one replica, both in order of arrival.

    Args:
        config: limits.
        eos_ids: the package's end ids, handed to the model as stop ids.
    """

    def __init__(self, config: EngineConfig, eos_ids: Iterable[int] = ()) -> None:
        self._config = config
        self._builder = RowBuilder(config, eos_ids)
        self.speculation = Speculation(config)
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
        decoding, plan = self._reserve([row for row in rows if not row.is_prefilling])
        budget = self._config.max_num_batched_tokens - sum(map(plan.ahead, decoding))
        if decoding:
            budget = min(budget, self._config.mixed_prefill_tokens)
        return self._output(decoding, plan, self._prefills(rows, budget, admit=suspect is None))

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

    def _output(
        self, decoding: list[Sequence], plan: DecodePlan, prefills: list[PrefillChunk]
    ) -> SchedulerOutput:
        build, drafts = self._builder, plan.drafts
        plain = [sequence for sequence in decoding if not sequence.changes_logits]
        guessing = plain if any(sequence.request_id in drafts for sequence in plain) else []
        return SchedulerOutput(
            prefills=tuple(prefills),
            decodes=() if guessing else tuple(build.decode(sequence, plan.steps) for sequence in plain),
            steps=plan.steps,
            fulls=tuple(build.full(sequence) for sequence in decoding if sequence.changes_logits),
            verifies=tuple(
                build.verify(sequence, drafts.get(sequence.request_id, ())) for sequence in guessing
            ),
        )

    def _reserve(self, rows: list[Sequence]) -> tuple[list[Sequence], DecodePlan]:
        plan = self._plan(rows)
        if sum(self._missing(row, plan.ahead(row)) for row in rows) > self.blocks.num_free:
            plan = DecodePlan()
        kept = []
        for row in rows:
            if self._make_room(row, plan.ahead(row)):
                self.blocks.extend(row, row.num_computed + plan.ahead(row))
                kept.append(row)
        return kept, plan

    def _plan(self, rows: list[Sequence]) -> DecodePlan:
        plain = [row for row in rows if not row.changes_logits]
        drafts = self.speculation.drafts(plain) if len(plain) == len(rows) else {}
        return DecodePlan(1 if drafts or len(plain) < len(rows) else self._decode_steps(rows), drafts)

    def _make_room(self, row: Sequence, steps: int) -> bool:
        """Preempt from the youngest on until the row's next positions fit; False if it fell itself."""
        while row.status is SequenceStatus.RUNNING and self._missing(row, steps) > self.blocks.num_free:
            self.preempt(self.running[-1])
        return row.status is SequenceStatus.RUNNING

    def _missing(self, row: Sequence, steps: int) -> int:
        return self.blocks.missing(row, row.num_computed + steps)

    def _decode_steps(self, rows: list[Sequence]) -> int:
        """Steps of a decode call: one while anyone waits for a first token, then a gentle ramp.

        Behind a guess that was right it starts anew, since the next one may be near.
        """
        if not rows or self.waiting or any(sequence.is_prefilling for sequence in self.running):
            return 1
        streams = any(row.stream for row in rows)
        steps = min(
            self._config.max_decode_steps if streams else self._config.max_bulk_steps,
            min(row.num_output_tokens - row.ramp_from for row in rows),
            max(row.num_remaining for row in rows),
            min(self._config.max_length - row.num_computed for row in rows),
        )
        return max(1, steps)

    def _prefills(self, rows: list[Sequence], budget: int, *, admit: bool) -> list[PrefillChunk]:
        chunks: list[PrefillChunk] = []
        queue = deque(row for row in rows if row.is_prefilling and row.status is SequenceStatus.RUNNING)
        while budget > 0:
            sequence = queue.popleft() if queue else self._admit_sound() if admit else None
            if sequence is None:
                break
            # One whose only token is run by `decode_full` decodes from the next step on.
            if sequence.is_prefilling:
                chunks.append(self._builder.chunk(sequence, budget))
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


def _arrival(sequence: Sequence) -> int:
    return sequence.arrival
