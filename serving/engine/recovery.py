"""What becomes of requests when a step fails or the replica's KV memory is gone."""

from __future__ import annotations

from collections.abc import Iterable

from models.contract.errors import TokenmillError
from serving.engine.finish_reason import FinishReason
from serving.engine.request_output import RequestOutput
from serving.engine.request_table import RequestTable
from serving.engine.scheduler import Scheduler

MAX_LOSSES = 8
"""Steps in a row that may find the KV memory gone before running requests end with an error."""


class Recovery:
    """Prefills again what can be saved, ends the rest with an error.

    Sampling depends on seed and position alone, so a sequence that is prefilled again with the
    tokens it has goes on exactly where it was.

    Args:
        requests: the unfinished requests.
        scheduler: their places and blocks.
    """

    def __init__(self, requests: RequestTable, scheduler: Scheduler) -> None:
        self._requests = requests
        self._scheduler = scheduler
        self._losses = 0

    def step_succeeded(self) -> None:
        """A step brought results."""
        self._losses = 0

    def step_failed(self, request_ids: Iterable[str], error: Exception) -> list[RequestOutput]:
        """A step of these requests raised: each gets a second try, alone, then ends."""
        cause = str(error).rstrip(".") if isinstance(error, TokenmillError) else type(error).__name__
        outputs = []
        for request_id in request_ids:
            sequence = self._requests.sequence(request_id)
            sequence.num_failures += 1
            if sequence.num_failures == 1:
                self._scheduler.preempt(sequence)
            else:
                outputs.append(self._requests.end(request_id, FinishReason.ERROR, cause))
        return outputs

    def memory_lost(self) -> list[RequestOutput]:
        """The KV memory was reset: everything that runs is prefilled again."""
        self._losses += 1
        running = [sequence.request_id for sequence in self._scheduler.running]
        self._scheduler.restart()
        if self._losses <= MAX_LOSSES:
            return []
        cause = f"the model lost its KV memory {self._losses} times in a row"
        return [self._requests.end(request_id, FinishReason.ERROR, cause) for request_id in running]
