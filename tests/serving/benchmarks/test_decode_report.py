from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from serving.benchmarks.decode_report import bars_svg, limit_ms, write_report

LINES = [
    {"batch": 1, "engine": "tokenmill", "step_ms": 10.0, "tokens_per_second": 100.0, "of_limit": 0.8},
    {"batch": 1, "engine": "A < B", "step_ms": 20.0, "tokens_per_second": 50.0, "of_limit": None},
]
RESULT: dict[str, Any] = {"settings": {"source": "gpt2", "tokens": 8, "prompt": 4}, "summary": LINES}


def test_the_files_hold_the_figures_and_load_nothing(tmp_path: Path):
    files = write_report(RESULT, tmp_path)
    assert [file.name for file in files] == ["decode.json", "decode.html", "decode.svg"]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert json.loads(files[0].read_text()) == RESULT
    page = files[1].read_text()
    assert "tokenmill" in page
    assert _loaded(page) == []


def test_the_plain_chart_has_a_bar_per_line_and_a_mark_for_the_limit():
    root = ElementTree.fromstring(bars_svg(RESULT))
    name = "{http://www.w3.org/2000/svg}"
    bars = [float(bar.attrib["width"]) for bar in root.iter(f"{name}rect") if bar.attrib["width"] != "100%"]
    assert bars[1] == pytest.approx(2 * bars[0])
    (mark,) = root.iter(f"{name}line")
    left = min(float(bar.attrib["x"]) for bar in root.iter(f"{name}rect") if "x" in bar.attrib)
    assert float(mark.attrib["x1"]) - left == pytest.approx(0.8 * bars[0], abs=0.1)
    assert "A < B" in [text.text for text in root.iter(f"{name}text")]


def test_no_runs_make_an_empty_chart():
    root = ElementTree.fromstring(bars_svg({**RESULT, "summary": []}))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert [
        bar for bar in root.iter("{http://www.w3.org/2000/svg}rect") if bar.attrib["width"] != "100%"
    ] == []


def test_the_limit_is_the_share_of_a_step():
    assert limit_ms(RESULT, LINES[0]) == pytest.approx(8.0)
    assert limit_ms(RESULT, LINES[1]) is None


def _loaded(page: str) -> list[str]:
    """What the page's tags fetch from elsewhere."""
    found: list[str] = []

    class _Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(value or "" for name, value in attrs if name in ("src", "href"))

    _Tags().feed(page)
    return found
