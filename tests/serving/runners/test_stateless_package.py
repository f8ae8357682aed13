"""A package without KV memory: text in, text out; an engine is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.contract.errors import InvalidRequestError, PackageError
from models.contract.sampling_params import SamplingParams
from monitoring.metrics_registry import MetricsRegistry
from serving.engine.decode_row import DecodeRow
from serving.engine.scheduler_output import SchedulerOutput
from serving.gateway.local_backend import LocalBackend
from serving.runners.local_runner import LocalRunner
from serving.runners.local_stream import answer_locally, stream_locally
from serving.runners.warmup_progress import WarmupProgress

TEXTS = ["def the ring", "naïve 東京"]
GREEDY = SamplingParams(max_tokens=12, temperature=0.0)


@pytest.fixture(scope="module")
def runner(tiny_stateless_package: Path) -> Iterator[LocalRunner]:
    with LocalRunner(tiny_stateless_package) as runner:
        yield runner


def test_it_answers_and_scores_like_one_with_kv_memory(runner: LocalRunner, tiny_package: Path):
    assert runner.manifest.is_stateless
    assert runner.nonce == 0
    assert runner.warmup.progress == WarmupProgress()
    with LocalRunner(tiny_package) as other:
        assert runner.tokenize(TEXTS) == other.tokenize(TEXTS)
        answers, wanted = runner.generate(TEXTS, GREEDY), other.generate(TEXTS, GREEDY)
        assert [answer.ids for answer in answers] == [answer.ids for answer in wanted]
        rows = np.array([[5, 6, 7, 8]]), np.array([4]), np.array([0])
        np.testing.assert_allclose(runner.score(*rows)[0], other.score(*rows)[0], rtol=1e-5)


def test_steps_and_resets_are_refused_by_name(runner: LocalRunner):
    row = DecodeRow("a", 5, 1, (1,), GREEDY, ())
    for call in (lambda: runner.execute(SchedulerOutput(decodes=(row,))), runner.reset):
        with pytest.raises(PackageError, match="is stateless: it has no KV memory") as caught:
            call()
        assert caught.value.field == "state_kinds"


def test_streams_and_servers_are_refused_before_anything_is_loaded(
    runner: LocalRunner, tiny_stateless_package: Path
):
    with pytest.raises(PackageError, match="is stateless"):
        next(stream_locally(runner, "def", GREEDY))
    with pytest.raises(PackageError, match="is stateless"):
        LocalBackend.load(tiny_stateless_package, MetricsRegistry())


def test_an_answer_comes_from_its_own_generate(runner: LocalRunner):
    assert answer_locally(runner, TEXTS[0], GREEDY) == runner.generate(TEXTS[:1], GREEDY)[0]


@pytest.mark.parametrize("prompt", ["x" * 250, ""])
def test_an_answer_can_be_cut_to_what_fits(runner: LocalRunner, prompt: str):
    long = SamplingParams(max_tokens=1000, temperature=0.0)
    with pytest.raises(InvalidRequestError, match="exceed the context of 256 tokens"):
        answer_locally(runner, prompt, long)
    room = 256 - max(1, len(runner.tokenize([prompt])[0]))
    fitting = replace(long, max_tokens=room)
    assert answer_locally(runner, prompt, long, cap_max_tokens=True) == answer_locally(
        runner, prompt, fitting
    )
