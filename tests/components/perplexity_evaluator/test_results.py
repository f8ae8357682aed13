from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from components.baseline.baseline import Baseline
from components.perplexity_evaluator.completion import Completion
from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.gate import judge, verdict
from components.perplexity_evaluator.gate_config import GateConfig
from components.perplexity_evaluator.results import results_json
from components.perplexity_evaluator.sample_prompt import SamplePrompt
from components.perplexity_evaluator.samples import Samples
from components.perplexity_evaluator.slice_comparison import compare, compare_slices
from components.perplexity_evaluator.window_scores import WindowScores

WINDOWS = [
    EvalWindow((1, 2, 3), 1, 4, "doc1", "a", "up to 512 tokens"),
    EvalWindow((1, 2, 3), 1, 4, "doc2", "b", "up to 512 tokens"),
    EvalWindow((1, 2, 3, 4), 1, 8, "doc2", "b", "513 to 2,048 tokens"),
]
CONFIG = EvaluationConfig(context=4, stride=4, bootstrap_samples=100)
SAMPLES = Samples(
    [SamplePrompt((0, 1), (1,), "a", "doc1")],
    [Completion((0, 1, 9), False)],
    [Completion((), True)],
    [b"\xc3", b"\xa9", b"<b>"],
)


def _results(candidate: list[float], baseline: list[float], samples: Samples | None = None) -> dict[str, Any]:
    scored = np.array([window.scored for window in WINDOWS])
    scores = WindowScores(np.array(candidate), scored), WindowScores(np.array(baseline), scored)
    overall, slices = compare(WINDOWS, *scores, CONFIG), compare_slices(WINDOWS, *scores, CONFIG)
    checks = judge(
        overall.perplexity.value,
        overall.baseline_perplexity.value,
        vocab_size=100,
        gate=GateConfig(),
        baseline_label="pretrained model",
        ratio=overall.ratio,
        slices=slices,
        texts=samples.figures if samples else None,
    )
    return results_json(
        WINDOWS,
        overall,
        slices,
        config=CONFIG,
        against=Baseline("checkpoint", "p", "f", "First run."),
        checks=checks,
        verdict=verdict(checks),
        samples=samples,
        add_bos=False,
    )


def test_figures_are_token_weighted():
    results = _results([2.0, 2.0, 3.0], [4.0, 4.0, 6.0])
    assert results["perplexity"] == pytest.approx(math.exp(7 / 7))
    assert results["baseline_perplexity"] == pytest.approx(math.exp(14 / 7))
    assert results["ratio"] == pytest.approx(math.exp(-1))
    assert results["interval"] == pytest.approx([math.exp(-1)] * 2)
    assert results["bits_per_byte"] == pytest.approx(7 / math.log(2) / 16)
    assert results["bits_per_byte_change"] == pytest.approx(-7 / math.log(2) / 16)
    assert results["intervals"]["bits_per_byte"] == pytest.approx([results["bits_per_byte"]] * 2, rel=0.2)
    assert (results["scored"], results["windows"], results["documents"]) == (7, 3, 2)


def test_slices_cover_source_and_document_length_with_counts_and_intervals():
    slices = {(s["by"], s["slice"]): s for s in _results([2.0, 2.0, 3.0], [4.0, 4.0, 6.0])["slices"]}
    b = slices["source", "b"]
    assert (b["scored"], b["documents"], b["windows"], b["bytes"]) == (5, 1, 2, 12)
    assert b["status"] == "not judged"
    assert b["intervals"]["ratio"] is None
    assert slices["source", "a"]["baseline_perplexity"] == pytest.approx(math.exp(2))
    assert slices["source", "a"]["intervals"]["perplexity"] is None
    assert ("length_class", "513 to 2,048 tokens") in slices
    assert not any(by == "document" for by, _ in slices)


def test_windows_of_a_single_document_are_no_sample_of_documents():
    scored = np.array([2, 3])
    part = [window for window in WINDOWS if window.document == "doc2"]
    scores = WindowScores(np.array([2.0, 3.0]), scored), WindowScores(np.array([4.0, 9.0]), scored)
    found = compare(part, *scores, CONFIG)
    assert found.units == 1
    assert math.isnan(found.ratio.low)
    assert math.isnan(found.bits_per_byte.high)


def test_nan_becomes_null_and_stays_json():
    results = _results([math.nan, 2.0, 3.0], [4.0, 4.0, 6.0])
    assert results["perplexity"] is None
    assert results["interval"] is None
    assert results["checks"][0]["value"] is None
    json.dumps(results, allow_nan=False)


def test_samples_are_text_side_by_side_with_their_figures():
    results = _results([2.0, 2.0, 3.0], [4.0, 4.0, 6.0], SAMPLES)
    (sample,) = results["samples"]
    assert (sample["prompt"], sample["reference"]) == ("é", "\ufffd")
    assert sample["candidate"] == {"text": "é", "tokens": 3, "ended": False}
    assert sample["baseline"] == {"text": "", "tokens": 0, "ended": True}
    assert results["texts"]["baseline"]["empty"] == 1.0
    assert "gate.texts.max_empty_share" in {check["name"] for check in results["checks"]}
