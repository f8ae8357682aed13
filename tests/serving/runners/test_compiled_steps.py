"""A compiled package behind the engine: nothing is compiled for a request, and answers stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from models.contract.sampling_params import SamplingParams
from serving.engine.decode_row import DecodeRow
from serving.engine.prefill_chunk import PrefillChunk
from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.step_result import StepResult
from serving.runners.local_runner import LocalRunner
from tests.serving.runners.recorder import RunnerRecorder
from tests.serving.runners.test_concurrent_calls import at_once_and_alone
from tests.tensorflow_counters import GRAPH_BUILDS, XLA_COMPILATIONS, counter

pytestmark = pytest.mark.slow

BLOCK = 4
REQUESTS = 2000
MAX_LENGTH = 256


@pytest.fixture(scope="module")
def observer() -> RunnerRecorder:
    return RunnerRecorder()


@pytest.fixture(scope="module")
def runner(tiny_xla_package: Path, observer: RunnerRecorder) -> Iterator[LocalRunner]:
    with LocalRunner(tiny_xla_package, observer=observer) as runner:
        # Padding is dear beside so few weights: here everything that is covered runs compiled.
        runner._decode._choice._gain = float("inf")
        before = counter(XLA_COMPILATIONS)
        for rows in (1, 2):
            runner.execute(step([5] * rows, 1, SamplingParams(), prompt=3))
        runner.warmup.run()
        # Our own count of compilations is TensorFlow's.
        assert counter(XLA_COMPILATIONS) - before == len(observer.of("compiled"))
        yield runner


def step(lengths: list[int], steps: int, params: SamplingParams, prompt: int = 0) -> SchedulerOutput:
    """Decode rows and perhaps a prompt, each on blocks of its own."""
    tables, free = [], 1
    for length in lengths:
        need = -(-(length + steps) // BLOCK)
        tables.append(tuple(range(free, free + need)))
        free += need
    blocks = tuple(range(free, free - (-prompt // BLOCK)))
    chunk = PrefillChunk("p", (7,) * prompt, 0, blocks, params, True)
    return SchedulerOutput(
        prefills=(chunk,) if prompt else (),
        decodes=tuple(
            DecodeRow(str(row), 9, length, table, params, (0,) * (row % 3))
            for row, (length, table) in enumerate(zip(lengths, tables, strict=True))
        ),
        steps=steps,
    )


def ids(result: StepResult) -> list[list[int]]:
    return [[token.id for token in row] for row in result.decodes]


def test_every_bucket_is_warm_and_told(runner: LocalRunner, observer: RunnerRecorder):
    progress = runner.warmup.progress
    assert (progress.warm, progress.error) == (progress.total, None)
    assert progress.total == len(observer.of("compiled")) == 3
    assert observer.of("buckets")[-1] == (progress.total, progress.total)


def test_no_request_is_compiled_for(runner: LocalRunner, observer: RunnerRecorder):
    random = np.random.default_rng(0)
    before = counter(XLA_COMPILATIONS), counter(GRAPH_BUILDS), len(observer.of("executor_built"))
    calls = len(observer.of("decode_call"))
    for _ in range(REQUESTS):
        steps = int(random.choice([1, 1, 1, 2, 3, 4, 4, 16]))
        longest = int(random.choice([20, 20, 100, MAX_LENGTH - 16]))
        lengths = random.integers(1, longest, random.integers(1, 10)).tolist()
        params = SamplingParams(
            temperature=float(random.choice([0.0, 0.7, 1.3])),
            top_k=int(random.choice([0, 5, 100])),
            top_p=float(random.choice([1.0, 0.9])),
            min_p=float(random.choice([0.0, 0.1])),
            seed=int(random.integers(1 << 40)),
        )
        runner.execute(step(lengths, steps, params, prompt=int(random.integers(40)) if steps == 1 else 0))
    after = counter(XLA_COMPILATIONS), counter(GRAPH_BUILDS), len(observer.of("executor_built"))
    assert after == before
    compiled = [flag for (flag,) in observer.of("decode_call")[calls:]]
    # Both kinds were among them.
    assert REQUESTS // 20 < sum(compiled) < REQUESTS


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_padded_compiled_steps_give_what_uncompiled_ones_give(
    runner: LocalRunner, observer: RunnerRecorder, temperature: float
):
    params = SamplingParams(temperature=temperature, top_p=0.9, seed=11)
    # The last one goes through the largest bucket in two calls.
    for lengths in ([40], [50, 3, 51], [45, 39, 50, 51, 52, 48, 57], [3, 50, 8, 9, 20, 3, 4, 5, 44, 7, 6]):
        output = step(lengths, 5, params)
        runner.reset()
        wanted = plain(runner, output)
        runner.reset()
        found = runner.execute(output)
        assert observer.of("decode_call")[-1] == (True,)
        assert ids(found) == ids(wanted)
        for row, plain_row in zip(found.decodes, wanted.decodes, strict=True):
            np.testing.assert_allclose(
                [token.logprob for token in row], [token.logprob for token in plain_row], atol=1e-3
            )


def plain(runner: LocalRunner, output: SchedulerOutput) -> StepResult:
    warm, runner._decode.warm = runner._decode.warm, frozenset()
    try:
        return runner.execute(output)
    finally:
        runner._decode.warm = warm


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_compiled_clients_at_once_get_what_each_gets_alone(runner: LocalRunner, temperature: float):
    together, alone = at_once_and_alone(runner.model, "decode_xla", temperature)
    assert together == alone


def test_closing_while_buckets_are_compiled_is_clean(tiny_xla_package: Path):
    runner = LocalRunner(tiny_xla_package)
    runner.warmup.start()
    runner.close()
    assert runner.warmup.progress.warm < runner.warmup.progress.total
