from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.reporter.report_data import report_data
from components.reporter.report_sources import ReportSources
from tests.components.reporter.run_folders import CORPUS, TRAINING, run_folders


def test_a_report_gathers_what_the_run_left(tmp_path: Path):
    report = report_data(run_folders(tmp_path))
    assert report["run_id"] == "20260101-000000-0000"
    assert report["verdict"]["state"] == "pushed"
    assert report["training"] == TRAINING
    assert report["data"] == CORPUS
    assert report["evaluation"]["blessed"] is True
    lineage = report["lineage"]
    assert lineage["baseline"]["reason"] == "First run."
    assert lineage["package"]["content_hash"]
    assert lineage["pushed"]["pushed_version"] == "7"
    assert lineage["artifacts"] == [{"name": "package", "type": "Model", "id": 7, "path": "artifacts/7"}]
    json.dumps(report, allow_nan=False)


def test_nothing_at_all_is_a_report_too():
    report = report_data(ReportSources("r"))
    assert report["verdict"]["state"] == "not blessed"
    assert all(report[name] is None for name in ("evaluation", "serving", "training", "data"))


@pytest.mark.parametrize("text", ["", "{", "[1]", '"a"'])
def test_a_broken_file_leaves_its_section_out(tmp_path: Path, text: str):
    sources = run_folders(tmp_path)
    (tmp_path / "model_run" / "training_summary.json").write_text(text)
    report = report_data(sources)
    assert report["training"] is None
    assert report["evaluation"] is not None
