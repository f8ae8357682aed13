"""Writing a report: the page and the data, side by side."""

from __future__ import annotations

import json
from pathlib import Path

from components.reporter.file_names import DATA_FILE, PAGE_FILE
from components.reporter.page import render_page
from components.reporter.report_data import report_data
from components.reporter.report_sources import ReportSources


def write_report(sources: ReportSources, folder: Path) -> str:
    """Write `report.html` and `report.json`.

    Args:
        sources: where the run's results lie.
        folder: created if absent.

    Returns:
        What became of the model: "pushed", "unchanged", "not pushed" or "not blessed".
    """
    report = report_data(sources)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=2, ensure_ascii=False)
    (folder / DATA_FILE).write_text(text + "\n", encoding="utf-8")
    (folder / PAGE_FILE).write_text(render_page(report), encoding="utf-8")
    state: str = report["verdict"]["state"]
    return state
