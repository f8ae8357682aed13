from __future__ import annotations

import json
import math

import numpy as np
import pytest

from components.baseline.baseline import Baseline
from components.blessing import Blessing
from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.results import results_json
from components.perplexity_evaluator.window_scores import WindowScores

WINDOWS = [
    EvalWindow((1, 2, 3), 1, 4, "doc1", "a", "up to 512 tokens"),
    EvalWindow((1, 2, 3), 1, 4, "doc2", "b", "up to 512 tokens"),
    EvalWindow((1, 2, 3, 4), 1, 8, "doc2", "b", "513 to 2,048 tokens"),
]


def _results(candidate: list[float], baseline: list[float]) -> dict:
    scored = np.array([window.scored for window in WINDOWS])
    return results_json(
        WINDOWS,
        WindowScores(np.array(candidate), scored),
        WindowScores(np.array(baseline), scored),
        config=EvaluationConfig(context=4, stride=4),
        against=Baseline("checkpoint", "p", "f", "First run."),
        verdict=Blessing(True, ("Good.",)),
        add_bos=False,
    )


def test_figures_are_token_weighted():
    results = _results([2.0, 2.0, 3.0], [4.0, 4.0, 6.0])
    assert results["perplexity"] == pytest.approx(math.exp(7 / 7))
    assert results["baseline_perplexity"] == pytest.approx(math.exp(14 / 7))
    assert results["ratio"] == pytest.approx(math.exp(-1))
    assert results["interval"] == pytest.approx([math.exp(-1)] * 2)
    assert results["bits_per_byte"] == pytest.approx(7 / math.log(2) / 16)
    assert (results["scored"], results["windows"], results["documents"]) == (7, 3, 2)


def test_slices_cover_source_and_document_length():
    slices = {(s["by"], s["slice"]): s for s in _results([2.0, 2.0, 3.0], [4.0, 4.0, 6.0])["slices"]}
    assert slices["source", "b"]["scored"] == 5
    assert slices["source", "a"]["baseline_perplexity"] == pytest.approx(math.exp(2))
    assert ("length_class", "513 to 2,048 tokens") in slices


def test_nan_becomes_null_and_stays_json():
    results = _results([math.nan, 2.0, 3.0], [4.0, 4.0, 6.0])
    assert results["perplexity"] is None
    assert results["interval"] is None
    json.dumps(results, allow_nan=False)
