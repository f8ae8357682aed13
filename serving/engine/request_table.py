"""The unfinished requests of an engine, and the one way out of it."""

from __future__ import annotations

from collections.abc import Callable

from serving.engine.admission import Admission
from serving.engine.engine_reporter import EngineReporter
from serving.engine.finish_reason import FinishReason
from serving.engine.output_processor import OutputProcessor
from serving.engine.request_output import RequestOutput
from serving.engine.scheduler import Scheduler
from serving.engine.sequence import Sequence
from serving.engine.token_output import TokenOutput


class RequestTable:
    """Requests by id, from admission to their last output.

    Args:
        scheduler: holds their sequences and blocks.
        admission: learns when one leaves.
        reporter: learns of tokens and ends.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        admission: Admission,
        reporter: EngineReporter,
        clock: Callable[[], float],
    ) -> None:
        self._scheduler = scheduler
        self._admission = admission
        self._reporter = reporter
        self._clock = clock
        self._processors: dict[str, OutputProcessor] = {}

    def __len__(self) -> int:
        return len(self._processors)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._processors

    def add(self, processor: OutputProcessor) -> None:
        """Take a request in and queue its sequence."""
        sequence = processor.sequence
        self._processors[sequence.request_id] = processor
        self._scheduler.add(sequence)
        self._reporter.queued(sequence)

    def sequence(self, request_id: str) -> Sequence:
        """The sequence of an unfinished request."""
        return self._processors[request_id].sequence

    def accept(self, request_id: str, tokens: tuple[TokenOutput, ...]) -> RequestOutput:
        """Hand a request its new ids; the KV of all but the last one is written by now."""
        processor = self._processors[request_id]
        sequence = processor.sequence
        output = processor.accept(tokens)
        sequence.num_failures = 0
        sequence.num_computed = sequence.num_tokens - 1
        self._scheduler.blocks.hash_blocks(sequence)
        self._reporter.generated(sequence, len(output.tokens))
        if output.finish_reason is not None:
            self._release(sequence, output.finish_reason)
        return output

    def end(self, request_id: str, reason: FinishReason, error: str | None = None) -> RequestOutput:
        """End a request from outside, in whatever phase."""
        output = self._processors[request_id].end(reason, error)
        self._release(self.sequence(request_id), reason)
        return output

    def _release(self, sequence: Sequence, reason: FinishReason) -> None:
        del self._processors[sequence.request_id]
        self._scheduler.finish(sequence)
        self._admission.finished(self._clock())
        self._reporter.finished(sequence, reason)
