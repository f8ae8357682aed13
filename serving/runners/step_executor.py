"""StepExecutor: runs a SchedulerOutput through a package's `prefill` and `decode`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.step_result import StepResult
from serving.engine.token_output import TokenOutput
from serving.runners.step_arrays import (
    decode_arrays,
    decode_tokens,
    prefill_arrays,
    prefill_groups,
    prefill_tokens,
)


class StepExecutor:
    """The `execute` of every runner, whatever carries its calls.

    Args:
        call: runs a signature with the given arrays and returns all its outputs.
        clock: monotonic seconds.
    """

    def __init__(
        self, call: Callable[..., dict[str, Any]], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._call = call
        self._clock = clock

    def execute(self, output: SchedulerOutput, nonce: int) -> StepResult:
        """Run a step: a call per group of prefill chunks of like length, then one decode call.

        Args:
            output: rows to run; not empty.
            nonce: of the KV memory before the step.

        Returns:
            Results in the order of `output`. If the nonce changes on the way, the step is left
            early with the new nonce and without results: its KV memory is gone.
        """
        started = self._clock()
        prefills: list[TokenOutput | None] = [None] * len(output.prefills)
        for group in prefill_groups(output.prefills):
            chunks = [output.prefills[index] for index in group]
            arrays = self._call("prefill", **prefill_arrays(chunks))
            if int(arrays["nonce"]) != nonce:
                return StepResult((), (), int(arrays["nonce"]))
            for index, token in zip(group, prefill_tokens(chunks, arrays), strict=True):
                prefills[index] = token
        prefilled = self._clock()
        decodes: list[tuple[TokenOutput, ...]] = []
        if output.decodes:
            arrays = self._call("decode", **decode_arrays(output.decodes, output.steps))
            if int(arrays["nonce"]) != nonce:
                return StepResult((), (), int(arrays["nonce"]))
            decodes = decode_tokens(output.decodes, arrays)
        return StepResult(
            prefills=tuple(token for token in prefills if token is not None),
            decodes=tuple(decodes),
            nonce=nonce,
            prefill_seconds=prefilled - started,
            decode_seconds=self._clock() - prefilled,
        )
