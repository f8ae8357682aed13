"""The folder is read by the library whose format it is in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import tensorflow_model_analysis as tfma

from components.perplexity_evaluator.tfma_results import write_tfma
from tests.components.perplexity_evaluator.example_results import example_results


def _written(folder: Path, results: dict[str, Any]) -> str:
    write_tfma(folder / "tfma", results, "packages/1")
    return str(folder / "tfma")


def _metrics(path: str, model: str | None = None) -> dict[Any, dict[str, Any]]:
    found = tfma.load_eval_result(path, model_name=model)
    return {key: metrics[""][""] for key, metrics in found.slicing_metrics}


def test_metrics_of_both_models_by_slice(tmp_path: Path):
    results = example_results({"code": 0.2, "notes": 0.1})
    path = _written(tmp_path, results)
    ours, theirs = _metrics(path), _metrics(path, "baseline")
    whole = ours[()]
    assert whole["perplexity"]["boundedValue"] == pytest.approx(
        {
            "value": results["perplexity"],
            "lowerBound": results["intervals"]["perplexity"][0],
            "upperBound": results["intervals"]["perplexity"][1],
        }
    )
    assert whole["perplexity_ratio"]["boundedValue"]["value"] == pytest.approx(results["ratio"])
    assert whole["scored_tokens"]["doubleValue"] == results["scored"]
    assert theirs[()]["bits_per_byte"]["boundedValue"]["value"] == pytest.approx(
        results["baseline_bits_per_byte"]
    )
    assert (("source", "code"),) in ours
    assert ours[(("source", "tiny"),)]["perplexity"]["doubleValue"] > 0
    assert len(ours) == 1 + len(results["slices"])


def test_the_config_names_models_slices_and_the_limit(tmp_path: Path):
    path = _written(tmp_path, example_results({"code": 0.2}, max_ratio=0.9))
    found = tfma.load_eval_result(path, model_name="candidate")
    assert [(spec.name, spec.is_baseline) for spec in found.config.model_specs] == [
        ("candidate", False),
        ("baseline", True),
    ]
    assert [list(spec.feature_keys) for spec in found.config.slicing_specs] == [
        [],
        ["source"],
        ["length_class"],
    ]
    threshold = found.config.metrics_specs[0].metrics[0].threshold.change_threshold
    assert threshold.relative.value == pytest.approx(-0.1)
    assert found.model_location == "packages/1"


def test_the_viewer_takes_it(tmp_path: Path):
    path = _written(tmp_path, example_results({"code": 0.2, "notes": 0.1}))
    widget = tfma.view.render_slicing_metrics(tfma.load_eval_result(path), slicing_column="source")
    assert {row["slice"] for row in widget.data} == {"source:code", "source:notes", "source:tiny"}
    assert widget.config["weightedExamplesColumn"] in widget.data[0]["metrics"][""][""]


def test_several_runs_make_a_time_series(tmp_path: Path):
    paths = [
        _written(tmp_path / str(run), example_results({"code": gain})) for run, gain in enumerate((0.1, 0.3))
    ]
    widget = tfma.view.render_time_series(
        tfma.load_eval_results(paths, model_name="candidate"), tfma.slicer.SingleSliceSpec()
    )
    assert len(widget.data) == 2


def test_a_blessed_model_validates(tmp_path: Path):
    found = tfma.load_validation_result(_written(tmp_path, example_results({"code": 0.2})))
    assert found.validation_ok
    assert not found.metric_validations_per_slice
    assert len(found.validation_details.slicing_details) == 4


def test_failed_checks_are_failures_of_their_slice_in_words(tmp_path: Path):
    results = example_results({"code": 0.9, "notes": -0.5}, max_ratio=0.5)
    found = tfma.load_validation_result(_written(tmp_path, results))
    assert not found.validation_ok
    by_slice = {
        tuple(key.bytes_value for key in part.slice_key.single_slice_keys): part
        for part in found.metric_validations_per_slice
    }
    assert set(by_slice) == {(), (b"notes",), (b"up to 512 tokens",)}
    overall, notes = by_slice[()], by_slice[(b"notes",)]
    assert overall.failures[0].metric_key.name == "perplexity_ratio"
    assert overall.failures[0].metric_threshold.value_threshold.upper_bound.value == 0.5
    assert "source=notes" in notes.failures[0].message


def test_a_nan_model_stays_nan(tmp_path: Path):
    results = example_results({"code": math.nan}, small=False)
    path = _written(tmp_path, results)
    assert _metrics(path)[()]["perplexity"]["doubleValue"] == "NaN"
    assert not tfma.load_validation_result(path).validation_ok
