"""Tokenmill's own side: a package through the runner, as the engine of a server calls it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from models.contract.runner_observer import RunnerObserver
from models.contract.signatures import NO_ID
from serving.benchmarks.engines.timed_answers import TimedAnswers
from serving.runners.bucket_choice import BucketChoice
from serving.runners.compiled_decode import CompiledDecode
from serving.runners.local_runner import LocalRunner
from serving.runners.padded_rows import null_rows


class TokenmillEngine:
    """Prefill and decode calls on a version 1 Session.

    Args:
        job: "package", "threads", "steps" per decode call, and "sampling", a mapping with some of
            temperature, top_k, top_p, min_p and seed.
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self._runner = LocalRunner(Path(job["package"]), threads=job["threads"])
        self._choice = BucketChoice(self._runner.manifest)
        self._decode = CompiledDecode(self._runner.manifest, RunnerObserver())
        self._steps = job["steps"]
        self._sampling = job.get("sampling") or {}

    def describe(self) -> dict[str, Any]:
        """Version and what the package is."""
        import tensorflow as tf

        manifest = self._runner.manifest
        return {
            "version": f"TensorFlow {tf.__version__}",
            "dtype": manifest.dtype,
            "profile": manifest.profile,
        }

    def run(self, prompts: list[list[int]], tokens: int) -> TimedAnswers:
        """See `TimedAnswers`; shapes that a server would have compiled by then are compiled before."""
        rows, length = len(prompts), len(prompts[0])
        calls = [
            (length + done, min(self._steps, tokens - 1 - done)) for done in range(0, tokens - 1, self._steps)
        ]
        self._warm(rows, calls)
        table = _block_tables(rows, self._columns(length + tokens))
        sampling = self._sampling_rows(rows)
        started = time.perf_counter()
        made = [self._prefill(prompts, table, sampling)[:, None]]
        prefilled = time.perf_counter()
        for present, steps in calls:
            outputs = self._decode.run(
                self._runner.call,
                "decode",
                last_id=made[-1][:, -1],
                length=np.full(rows, present, np.int32),
                block_table=table[:, : self._columns(present + steps)],
                **sampling,
                stop_ids=np.full((rows, 1), NO_ID, np.int32),
                steps=np.array(steps, np.int32),
            )
            made.append(outputs["ids"])
        ended = time.perf_counter()
        return TimedAnswers(prefilled - started, ended - prefilled, np.concatenate(made, axis=1).tolist())

    def _columns(self, tokens: int) -> int:
        return -(-tokens // self._runner.manifest.block_size)

    def _warm(self, rows: int, calls: list[tuple[int, int]]) -> None:
        """Compile the buckets that the calls of (length, steps) take once all are warm, and no others."""
        for length, steps in calls:
            bucket = self._choice.cheapest(rows, self._columns(length + steps), self._decode.buckets)
            if bucket is not None and bucket not in self._decode.warm:
                self._runner.call("decode_xla", **null_rows(bucket))
                self._decode.add_warm(bucket)

    def _sampling_rows(self, rows: int) -> dict[str, np.ndarray]:
        chosen = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0, **self._sampling}
        dtypes = {"top_k": np.int32, "seed": np.int64}
        return {name: np.full(rows, value, dtypes.get(name, np.float32)) for name, value in chosen.items()}

    def _prefill(
        self, prompts: list[list[int]], table: np.ndarray, sampling: dict[str, np.ndarray]
    ) -> np.ndarray:
        rows = len(prompts)
        outputs = self._runner.call(
            "prefill",
            ids=np.array(prompts, np.int32),
            lengths=np.full(rows, len(prompts[0]), np.int32),
            start=np.zeros(rows, np.int32),
            block_table=table[:rows],
            **{name: values[:rows] for name, values in sampling.items()},
        )
        return outputs["next_id"]

    def trace(self, directory: str, prompts: list[list[int]], tokens: int) -> None:
        """Write a TensorBoard trace of one run, its shapes run before, to `directory`."""
        import tensorflow as tf

        self.run(prompts, tokens)
        tf.profiler.experimental.start(directory)
        try:
            self.run(prompts, tokens)
        finally:
            tf.profiler.experimental.stop()


def _block_tables(rows: int, columns: int) -> np.ndarray:
    """Blocks of each row, one row after the other; block 0 is the null block."""
    return 1 + np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)


def load(job: dict[str, Any]) -> TokenmillEngine:
    """The engine of a job."""
    return TokenmillEngine(job)
