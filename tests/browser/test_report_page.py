"""The report in a real browser, without any network: charts are drawn, nothing is refused, paper is light."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from components.reporter.report_files import write_report
from tests.components.reporter.run_folders import run_folders

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: install the package chromium"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_report(run_folders(folder / "run"), folder)
    return folder / "report.html"


def _browse(page: Path, profile: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(CHROMIUM), "--headless=new", "--disable-gpu", "--virtual-time-budget=10000"]
    # The sandbox does not start as root, as in a container.
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}"]
    command += ["--enable-logging=stderr", *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.mark.parametrize("width", [400, 1200])
def test_charts_are_drawn_and_nothing_is_refused(page: Path, tmp_path: Path, width: int):
    found = _browse(page, tmp_path, f"--window-size={width},1000", "--dump-dom")
    charts = re.findall(r'data-figure="figure-(\w+)"', found.stdout)
    drawn = re.findall(r'class="chart js-plotly-plot"', found.stdout)
    assert len(charts) == len(drawn) == 4
    assert found.stdout.count("error_x") + found.stdout.count("errorbar") > 0
    assert "CONSOLE" not in found.stderr, [line for line in found.stderr.splitlines() if "CONSOLE" in line]


def test_it_prints(page: Path, tmp_path: Path):
    paper = tmp_path / "report.pdf"
    _browse(page, tmp_path / "profile", f"--print-to-pdf={paper}")
    assert paper.read_bytes().startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) > 1
