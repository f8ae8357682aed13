"""Tells the observer what happened and how long it took."""

from __future__ import annotations

from collections.abc import Callable

from models.contract.metrics import MetricsObserver
from serving.engine.finish_reason import FinishReason
from serving.engine.scheduler import Scheduler
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.sequence import Sequence
from serving.engine.step_result import StepResult


class EngineReporter:
    """Keeps the times of sequences and turns them into an observer's events.

    Args:
        observer: receives the events.
        scheduler: whose state the gauges show.
        clock: monotonic seconds.
    """

    def __init__(self, observer: MetricsObserver, scheduler: Scheduler, clock: Callable[[], float]) -> None:
        self._observer = observer
        self._scheduler = scheduler
        self._clock = clock
        self._num_preemptions = 0

    def queued(self, sequence: Sequence) -> None:
        """A sequence entered the queue."""
        self._observer.request_queued(sequence.num_prompt_tokens)

    def scheduled(self, sequence: Sequence, start: int) -> None:
        """A sequence's chunk from `start` on is about to run; the first one shows the cache's hits."""
        if sequence.scheduled_time is None:
            sequence.scheduled_time = self._clock()
            sequence.num_cached_tokens = start
            self._observer.prefix_cache(sequence.num_prompt_tokens, start)

    def generated(self, sequence: Sequence, count: int) -> None:
        """A sequence got `count` tokens."""
        now = self._clock()
        if sequence.last_token_time is None:
            queue_time = (sequence.scheduled_time or now) - sequence.arrival_time
            self._observer.first_token(now - sequence.arrival_time, queue_time)
        else:
            self._observer.tokens_generated(count, now - sequence.last_token_time)
        sequence.last_token_time = now

    def finished(self, sequence: Sequence, reason: FinishReason) -> None:
        """A sequence ended."""
        e2e = self._clock() - sequence.arrival_time
        self._observer.request_finished(reason.value, sequence.num_output_tokens, e2e)

    def step(self, output: SchedulerOutput, result: StepResult) -> None:
        """A step ran."""
        if output.prefills:
            self._observer.step(
                "prefill", len(output.prefills), output.num_prefill_tokens, result.prefill_seconds
            )
        if output.num_decoding:
            tokens = sum(map(len, (*result.decodes, *result.verifies))) + len(result.fulls)
            self._observer.step("decode", output.num_decoding, tokens, result.decode_seconds)
        if output.verifies:
            drafted = sum(len(row.draft_ids) for row in output.verifies)
            right = sum(len(made) - 1 for made in result.verifies)
            self._observer.guessed(drafted, right)

    def state(self) -> None:
        """Preemptions since the last call, and the gauges."""
        scheduler = self._scheduler
        for _ in range(scheduler.num_preemptions - self._num_preemptions):
            self._observer.preempted()
        self._num_preemptions = scheduler.num_preemptions
        blocks = scheduler.blocks
        self._observer.gauges(
            len(scheduler.running), len(scheduler.waiting), blocks.num_used, blocks.num_total
        )
