"""StepExecutor: runs a SchedulerOutput through a package's stateful signatures."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.step_result import StepResult
from serving.engine.token_output import TokenOutput
from serving.runners.step_arrays import (
    Arrays,
    decode_arrays,
    decode_tokens,
    full_arrays,
    full_tokens,
    prefill_arrays,
    prefill_groups,
    prefill_tokens,
    verify_arrays,
    verify_tokens,
)

Row = TypeVar("Row")
Made = TypeVar("Made")


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
        """Run a step: a call per group of prefill chunks of like length, then one per kind of row.

        Args:
            output: rows to run; not empty.
            nonce: of the KV memory before the step.

        Returns:
            Results in the order of `output`. If the nonce changes on the way, the step is left
            early with the new nonce and without results: its KV memory is gone.
        """
        try:
            return self._execute(output, nonce)
        except _MemoryLost as lost:
            return StepResult((), (), lost.nonce)

    def _execute(self, output: SchedulerOutput, nonce: int) -> StepResult:
        started = self._clock()
        prefills = self._prefill(output.prefills, nonce)
        prefilled = self._clock()
        decodes = self._rows("decode", output.decodes, decode_arrays, decode_tokens, nonce, output.steps)
        fulls = self._rows("decode_full", output.fulls, full_arrays, full_tokens, nonce)
        verifies = self._rows("verify", output.verifies, verify_arrays, verify_tokens, nonce)
        return StepResult(
            prefills=prefills,
            decodes=decodes,
            nonce=nonce,
            prefill_seconds=prefilled - started,
            decode_seconds=self._clock() - prefilled,
            fulls=fulls,
            verifies=verifies,
        )

    def _prefill(self, chunks: Sequence[PrefillChunk], nonce: int) -> tuple[TokenOutput, ...]:
        tokens: dict[int, TokenOutput] = {}
        for group in prefill_groups(chunks):
            rows = [chunks[index] for index in group]
            made = self._rows("prefill", rows, prefill_arrays, prefill_tokens, nonce)
            tokens.update(zip(group, made, strict=True))
        return tuple(tokens[index] for index in range(len(chunks)))

    def _rows(
        self,
        signature: str,
        rows: Sequence[Row],
        arrays: Callable[..., Arrays],
        tokens: Callable[[Sequence[Row], Arrays], list[Made]],
        nonce: int,
        *options: int,
    ) -> tuple[Made, ...]:
        if not rows:
            return ()
        outputs = self._call(signature, **arrays(rows, *options))
        if int(outputs["nonce"]) != nonce:
            raise _MemoryLost(int(outputs["nonce"]))
        return tuple(tokens(rows, outputs))


class _MemoryLost(Exception):  # noqa: N818
    """The nonce changed within a step."""

    def __init__(self, nonce: int) -> None:
        super().__init__(nonce)
        self.nonce = nonce
