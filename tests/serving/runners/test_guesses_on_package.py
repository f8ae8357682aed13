"""Guessing ahead and changed logits on a real, tiny package."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models.checkpoint import load_checkpoint
from models.contract.metrics import MetricsObserver
from models.contract.sampling_params import SamplingParams
from serving.engine.engine_config import EngineConfig
from serving.engine.llm_engine import LLMEngine
from serving.runners.local_runner import LocalRunner

TEXTS = [
    "def add(a, b):\n    return a + b\n\n\n" * 2,
    "tick tock tick tock tick",
    "x",
    "naïve 東京 naïve 東京",
]
NEW = 40
MARGIN = 1e-3


@pytest.fixture(scope="module")
def runner(tiny_package: Path) -> Iterator[LocalRunner]:
    with LocalRunner(tiny_package) as runner:
        yield runner


@pytest.fixture(scope="module")
def prompts(runner: LocalRunner) -> list[list[int]]:
    return runner.tokenize(TEXTS)


def run(runner: LocalRunner, prompts: list[list[int]], params: SamplingParams, **limits: Any) -> tuple:
    manifest = runner.manifest
    config = EngineConfig.from_manifest(manifest, **limits)
    engine = LLMEngine(runner, config, runner.vocab, manifest.eos_ids, time.monotonic, MetricsObserver())
    outputs = engine.generate(prompts, params)
    assert engine.scheduler.blocks.num_used == 0
    return [[token.id for token in output.tokens] for output in outputs], engine.scheduler.speculation


@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("rows", [1, 4])
def test_the_answer_is_the_one_without_guessing(runner, prompts, temperature: float, rows: int):
    params = SamplingParams(max_tokens=NEW, temperature=temperature, seed=5, ignore_eos=True)
    limits = {"max_num_seqs": rows, "max_speculative_rows": 4}
    plain, none = run(runner, prompts, params, speculation=False, **limits)
    guessed, speculation = run(runner, prompts, params, **limits)
    assert guessed == plain
    assert none.num_drafted == 0
    assert temperature > 0 or speculation.num_accepted > 0


class Reference:
    """One id after the other from the whole network's logits, changed as the contract says."""

    def __init__(self, checkpoint: Path) -> None:
        decoder = load_checkpoint(checkpoint)
        self._forward = tf.function(
            decoder, input_signature=[tf.TensorSpec([1, None], tf.int32)], autograph=False
        )

    def ids(self, prompt: list[int], params: SamplingParams, eos_ids: tuple[int, ...]) -> list[int]:
        """Greedy ids up to the first one whose two best logits nearly tie."""
        ids = list(prompt)
        while len(ids) < len(prompt) + params.max_tokens:
            logits = self._forward(tf.constant([ids], tf.int32))[0, -1].numpy()
            logits = change(logits, ids, len(prompt), params, eos_ids)
            second, best = np.sort(logits)[-2:]
            if best - second < MARGIN:
                break
            ids.append(int(np.argmax(logits)))
            if ids[-1] in eos_ids and not params.ignore_eos:
                break
        return ids[len(prompt) :]


def change(
    logits: np.ndarray, ids: list[int], generated_from: int, params: SamplingParams, eos_ids: tuple[int, ...]
) -> np.ndarray:
    if len(ids) - generated_from < params.min_tokens and not params.ignore_eos:
        logits[list(eos_ids)] = -np.inf
    for token, bias in params.logit_bias:
        logits[token] += bias
    seen = sorted(set(ids))
    penalty = params.repetition_penalty
    logits[seen] = np.where(logits[seen] > 0, logits[seen] / penalty, logits[seen] * penalty)
    for token, count in zip(*np.unique(ids[generated_from:], return_counts=True), strict=True):
        logits[token] -= params.frequency_penalty * count + params.presence_penalty
    return logits


@pytest.fixture(scope="module")
def reference(tiny_checkpoint: Path) -> Reference:
    return Reference(tiny_checkpoint)


@pytest.mark.parametrize(
    "changes",
    [
        {"repetition_penalty": 1.3},
        {"frequency_penalty": 0.7, "presence_penalty": 0.4},
        {"logit_bias": ((70, 3.0), (71, 2.5), (80, -100.0))},
        {"repetition_penalty": 1.1, "presence_penalty": -0.2, "logit_bias": ((72, 2.0),)},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_changed_logits_change_the_answer_as_the_contract_says(
    runner, prompts, reference: Reference, changes: dict[str, Any]
):
    params = SamplingParams(max_tokens=20, temperature=0.0, ignore_eos=True, **changes)
    together, _ = run(runner, prompts, params)
    alone, _ = run(runner, prompts, params, max_num_seqs=1, prefix_caching=False)
    plain, _ = run(runner, prompts, SamplingParams(max_tokens=20, temperature=0.0, ignore_eos=True))
    sure = 0
    for prompt, a, b in zip(prompts, together, alone, strict=True):
        expected = reference.ids(prompt, params, ())
        assert a[: len(expected)] == b[: len(expected)] == expected
        sure += len(expected)
    assert sure > 40
    assert together != plain


def test_no_end_id_before_the_least_length(runner, prompts, reference: Reference):
    (eos_id, *_) = runner.manifest.eos_ids
    # The bias makes the end id the best one at once.
    wanted = {"max_tokens": 20, "temperature": 0.0, "logit_bias": ((eos_id, 50.0),)}
    early, _ = run(runner, prompts, SamplingParams(**wanted))
    late, _ = run(runner, prompts, SamplingParams(**wanted, min_tokens=7))
    assert early == [[eos_id]] * len(prompts)
    assert [(len(ids), ids[-1]) for ids in late] == [(8, eos_id)] * len(prompts)
    assert not any(eos_id in ids[:7] for ids in late)


def test_plain_and_changed_rows_side_by_side(runner, prompts):
    manifest = runner.manifest
    config = EngineConfig.from_manifest(manifest)
    plain = SamplingParams(max_tokens=12, temperature=0.8, seed=3, ignore_eos=True)
    changed = SamplingParams(max_tokens=12, temperature=0.8, seed=3, ignore_eos=True, presence_penalty=1.0)
    engine = LLMEngine(runner, config, runner.vocab, manifest.eos_ids, time.monotonic, MetricsObserver())
    for index, prompt in enumerate(prompts):
        engine.add_request(f"plain {index}", prompt, plain)
        engine.add_request(f"changed {index}", prompt, changed)
    ids: dict[str, list[int]] = {}
    while engine.has_unfinished:
        for output in engine.step():
            ids.setdefault(output.request_id, []).extend(token.id for token in output.tokens)
    for kind, params in (("plain", plain), ("changed", changed)):
        alone, _ = run(runner, prompts, params)
        assert [ids[f"{kind} {index}"] for index in range(len(prompts))] == alone
