from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.pusher.component import evaluation_summary
from components.pusher.package_pusher import PackagePusher
from models.contract.manifest import Manifest
from tests.components.packages import bare_package
from tests.components.perplexity_evaluator.example_results import example_results

PARENT = {"dtype": "int8", "baseline": "float32 parent", "perplexity": 2.6, "ratio": 1.02}


def _results() -> dict[str, Any]:
    return {**example_results({"code": 0.5}, samples=False), "split": "eval"}


def test_a_pushed_manifest_tells_what_quantised_weights_lost(tmp_path: Path):
    summary = evaluation_summary({**_results(), "parent": PARENT})
    package = bare_package(tmp_path / "made")
    pushed = PackagePusher(tmp_path / "push").push(package, run_id="r1", evaluation=summary)
    assert Manifest.load(pushed.path).evaluation["parent"] == PARENT


@pytest.mark.parametrize("absent", [{"parent": None}, {}])
def test_results_without_a_parent_give_a_summary_without_one(absent: dict[str, None]):
    results = _results()
    results.pop("parent", None)
    summary = evaluation_summary({**results, **absent})
    assert summary["blessed"] is True
    assert summary["perplexity"] == results["perplexity"]
    assert "parent" not in summary
    json.dumps(summary)
