"""The engine on a real, tiny package: its answers are those of the uncached network, however it schedules."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.contract.sampling_params import SamplingParams
from serving.engine.engine_config import EngineConfig
from serving.engine.llm_engine import LLMEngine
from serving.runners.local_runner import LocalRunner
from tests.fakes import RecordingObserver

TEXTS = [
    "def fibonacci(n):",
    "import os\nimport sys\n\n\n",
    "The quick brown fox jumps over the lazy dog. " * 3,
    "x",
    "naïve café – 東京 🙂",
    "    return the other thing\n" * 2,
    "The quick brown fox jumps over the lazy cat.",
    "1 2 3 4 5 6 7",
]
NEW = 24
MARGIN = 1e-3
GREEDY = SamplingParams(max_tokens=NEW, temperature=0.0, ignore_eos=True, logprobs=3)


@dataclass
class Reference:
    """What the whole network gives for one prompt when it runs anew for every id."""

    ids: list[int]
    logprobs: list[float]
    top_ids: list[list[int]]
    sure: int


@pytest.fixture(scope="module")
def runner(tiny_package: Path) -> Iterator[LocalRunner]:
    with LocalRunner(tiny_package) as runner:
        yield runner


@pytest.fixture(scope="module")
def prompts(runner: LocalRunner) -> list[list[int]]:
    return runner.tokenize(TEXTS)


@pytest.fixture(scope="module")
def references(tiny_checkpoint: Path, prompts: list[list[int]]) -> list[Reference]:
    decoder = load_checkpoint(tiny_checkpoint)
    forward = tf.function(decoder, input_signature=[tf.TensorSpec([1, None], tf.int32)], autograph=False)
    return [uncached(forward, prompt) for prompt in prompts]


def uncached(forward: Any, prompt: list[int]) -> Reference:
    ids, logprobs, tops, margins = list(prompt), [], [], []
    for _ in range(NEW):
        scores = tf.nn.log_softmax(forward(tf.constant([ids], tf.int32))[0, -1]).numpy()
        best = np.argsort(-scores)[:3]
        margins.append(scores[best[0]] - scores[best[1]])
        tops.append(best.tolist())
        logprobs.append(float(scores[best[0]]))
        ids.append(int(best[0]))
    sure = next((i for i, margin in enumerate(margins) if margin < MARGIN), NEW)
    return Reference(ids[len(prompt) :], logprobs, tops, sure)


def engine_on(
    runner: LocalRunner, *, num_blocks: int | None = None, **limits: Any
) -> tuple[LLMEngine, RecordingObserver]:
    observer = RecordingObserver()
    manifest = runner.manifest
    if num_blocks is not None:
        manifest = replace(manifest, num_blocks=num_blocks)
    config = EngineConfig.from_manifest(manifest, **limits)
    return LLMEngine(runner, config, runner.vocab, manifest.eos_ids, time.monotonic, observer), observer


def check(outputs: list[Any], references: list[Reference]) -> None:
    for output, reference in zip(outputs, references, strict=True):
        sure = reference.sure
        assert [token.id for token in output.tokens][:sure] == reference.ids[:sure]
        np.testing.assert_allclose(
            [token.logprob for token in output.tokens][:sure], reference.logprobs[:sure], atol=1e-3
        )
        assert [token.top[0][0] for token in output.tokens][:sure] == reference.ids[:sure]
        assert all(len(token.top) == 3 for token in output.tokens)
        assert output.num_output_tokens == len(output.tokens) == NEW


def test_the_reference_is_sure_of_most_of_its_ids(references: list[Reference]):
    assert sum(reference.sure for reference in references) >= len(TEXTS) * NEW // 2


@pytest.mark.parametrize(
    "limits",
    [
        {"max_num_seqs": 1, "max_decode_steps": 1},
        {"max_num_seqs": 1, "max_decode_steps": 4},
        {"max_num_seqs": 8, "max_decode_steps": 1},
        {"max_num_seqs": 8, "max_decode_steps": 4},
        {"max_num_seqs": 8, "max_num_batched_tokens": 11, "mixed_prefill_tokens": 5},
        {"max_num_seqs": 3, "max_num_batched_tokens": 7, "prefix_caching": False},
    ],
    ids=lambda limits: "-".join(f"{key}={value}" for key, value in limits.items()),
)
def test_greedy_answers_do_not_depend_on_how_they_are_scheduled(
    runner: LocalRunner, prompts: list[list[int]], references: list[Reference], limits: dict[str, Any]
):
    engine, _ = engine_on(runner, **limits)
    check(engine.generate(prompts, GREEDY), references)
    assert engine.scheduler.blocks.num_used == 0


def test_preemption_changes_nothing(
    runner: LocalRunner, prompts: list[list[int]], references: list[Reference]
):
    # Two requests per prompt need more blocks than these.
    engine, observer = engine_on(runner, num_blocks=64, max_num_seqs=8, prefix_caching=False)
    outputs = engine.generate([*prompts, *prompts], GREEDY)
    check(outputs, [*references, *references])
    assert observer.of("preempted")


def test_a_shared_prefix_is_found_and_changes_nothing(
    runner: LocalRunner, prompts: list[list[int]], references: list[Reference]
):
    engine, _ = engine_on(runner)
    engine.generate([prompts[6]], GREEDY)
    (again,) = engine.generate([prompts[6]], GREEDY)
    assert again.num_cached_tokens >= len(prompts[6]) - 4
    check([again], [references[6]])


def test_a_memory_lost_in_the_middle_costs_no_token(
    runner: LocalRunner, prompts: list[list[int]], references: list[Reference]
):
    engine, observer = engine_on(runner)
    for index, prompt in enumerate(prompts):
        engine.add_request(str(index), prompt, GREEDY)
    merged: dict[str, Any] = {}
    for step in range(1000):
        if step in (2, 5, 6):
            runner.reset()
        for output in engine.step():
            known = merged.get(output.request_id)
            merged[output.request_id] = known.merge(output) if known else output
        if not engine.has_unfinished:
            break
    check([merged[str(index)] for index in range(len(prompts))], references)
    assert len(observer.of("preempted")) >= 8


def test_sampled_answers_depend_on_the_seed_alone(runner: LocalRunner, prompts: list[list[int]]):
    def params(seed: int) -> SamplingParams:
        return SamplingParams(max_tokens=NEW, temperature=0.8, top_p=0.9, seed=seed, ignore_eos=True)

    together, _ = engine_on(runner, max_num_seqs=8, max_num_batched_tokens=16, mixed_prefill_tokens=5)
    for seed in range(4):
        together.add_request(str(seed), prompts[0], params(seed))
        together.add_request(f"other {seed}", prompts[seed + 1], params(99))
    ids: dict[str, list[int]] = {}
    while together.has_unfinished:
        for output in together.step():
            ids.setdefault(output.request_id, []).extend(token.id for token in output.tokens)
    for seed in range(4):
        alone, _ = engine_on(runner, max_num_seqs=1, max_decode_steps=1, prefix_caching=False)
        (output,) = alone.generate([prompts[0]], params(seed))
        assert [token.id for token in output.tokens] == ids[str(seed)]
    assert len({tuple(ids[str(seed)]) for seed in range(4)}) > 1


def test_the_packages_own_generate_agrees(
    runner: LocalRunner, prompts: list[list[int]], references: list[Reference]
):
    engine, _ = engine_on(runner)
    params = SamplingParams(max_tokens=NEW, temperature=0.0)
    for text, prompt, reference in zip(TEXTS, prompts, references, strict=True):
        (own,) = runner.generate([text], params)
        (ours,) = engine.generate([prompt], params)
        sure = reference.sure
        assert [token.id for token in ours.tokens][:sure] == own.ids[:sure]
        if sure == NEW:
            assert (ours.text_delta, str(ours.finish_reason)) == (own.text, own.finish_reason)
