from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from components.reporter.figures import slices_figure
from components.reporter.page import render_page
from components.reporter.page_view import page_view
from components.reporter.report_data import report_data
from components.reporter.report_files import write_report
from components.reporter.report_sources import ReportSources
from tests.components.perplexity_evaluator.example_results import example_results
from tests.components.reporter.run_folders import TRAINING, run_folders

ATTACK = "</script><img src=x onerror=alert(1)>{{ 86453*91291 }}"
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags, visible text and scripts of a page; raises on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.shown: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.shown.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return report_data(run_folders(tmp_path_factory.mktemp("run")))


def _figures(page: str) -> dict[str, dict[str, Any]]:
    found = re.findall(r'<script type="application/json" id="figure-(\w+)">(.*?)</script>', page, re.DOTALL)
    return {name: json.loads(text) for name, text in found}


def test_the_page_holds_every_section_and_needs_nothing_else(report: dict[str, Any]):
    page = Page(render_page(report))
    ids = {attributes["id"] for tag, attributes in page.tags if tag == "section" and "id" in attributes}
    assert ids == {"checks", "quality", "samples", "training", "data", "lineage", "config"}
    assert not [tag for tag, attributes in page.tags if {"src", "srcset"} & set(attributes)]
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "img", "object")]
    assert all(attributes["href"].startswith("#") for tag, attributes in page.tags if tag == "a")
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    for words in (
        "Blessed and pushed as version 7",
        "tokenmill canary",
        "0.68%",
        "Stopped early.",
        "40 left out",
        "dead letters",
    ):
        assert words in page.text


def test_the_page_links_to_sections_that_exist(report: dict[str, Any]):
    page = Page(render_page(report))
    ids = {attributes.get("id") for _, attributes in page.tags}
    targets = [a["href"].removeprefix("#") for tag, a in page.tags if tag == "a"]
    assert targets
    assert set(targets) <= ids


def test_charts_are_plotly_s_once_their_colours_are_filled_in(report: dict[str, Any]):
    page = render_page(report)
    figures = _figures(page)
    assert set(figures) == {"comparison", "slices", "loss", "pace"}
    for figure in figures.values():
        style = (Path("components/reporter/template") / "page.css").read_text()
        for name in re.findall(r'"@(\w+)"', json.dumps(figure)):
            assert f"--{name}:" in style
        go.Figure(json.loads(re.sub(r'"@\w+"', '"#123456"', json.dumps(figure))))
    assert page.count("plotly.js v") == 1


def test_what_comes_from_models_and_corpora_cannot_become_markup(report: dict[str, Any]):
    attacked = json.loads(json.dumps(report))
    sample = attacked["evaluation"]["samples"][0]
    for key in ("prompt", "reference", "source"):
        sample[key] = ATTACK
    for side in ("candidate", "baseline"):
        sample[side]["text"] = f"{side} {ATTACK}"
    attacked["evaluation"]["slices"][0]["slice"] = ATTACK
    attacked["evaluation"]["checks"][0]["sentence"] = ATTACK
    attacked["verdict"]["next_steps"] = [f"`{ATTACK}` {ATTACK}"]
    attacked.update(model=ATTACK, config=ATTACK, run_id=ATTACK, data={ATTACK: {ATTACK: ATTACK}})
    before, after = Page(render_page(report)), Page(render_page(attacked))
    assert "onerror" in after.text
    assert str(86453 * 91291) not in after.text
    assert not [tag for tag, _ in after.tags if tag == "img"]
    scripts = [sum(tag == "script" for tag, _ in page.tags) for page in (before, after)]
    assert scripts[0] == scripts[1]


def test_only_what_one_of_them_wrote_is_marked(report: dict[str, Any]):
    page = render_page(report)
    assert re.search(r"<pre>\(a, b\):\n<mark>    return</mark>", page)
    assert "<mark>&lt;script&gt;" in page


@pytest.mark.parametrize(
    "missing",
    ["examples", "model_run", "package", "baseline", "evaluation", "model_blessing", "infra_blessing"],
)
def test_a_report_without_one_of_its_parts(tmp_path: Path, missing: str):
    page = Page(render_page(report_data(run_folders(tmp_path, **{missing: None}))))
    assert "What to do next" in page.text


def test_a_report_of_nothing_draws_nothing():
    text = render_page(report_data(ReportSources("r1")))
    page = Page(text)
    assert "Nothing was measured" in page.text
    assert len(text) < 50_000


def test_training_without_validation_or_norms(tmp_path: Path):
    sources = run_folders(tmp_path)
    curve = [{"step": 1, "tokens": 5, "loss": 2.0}]
    plain = {key: value for key, value in TRAINING.items() if key in ("steps", "tokens")}
    (tmp_path / "model_run" / "training_summary.json").write_text(json.dumps({**plain, "loss_curve": curve}))
    figures = _figures(render_page(report_data(sources)))
    assert "pace" not in figures
    assert len(figures["loss"]["data"]) == 2


def test_a_failed_verdict_names_what_failed_first(tmp_path: Path):
    report = report_data(run_folders(tmp_path, {"code": -0.3, "notes": 0.1}))
    assert report["verdict"]["state"] == "not blessed"
    page = Page(render_page(report))
    assert "Not blessed" in page.text
    assert page.text.index("failed") < page.text.index("passed")
    assert "Slice source=code" in page.text


def test_a_nan_model_has_a_page(tmp_path: Path):
    results = example_results({"code": float("nan")})
    sources = run_folders(tmp_path)
    (tmp_path / "evaluation" / "results.json").write_text(json.dumps(results))
    assert "NaN" in Page(render_page(report_data(sources))).text


def test_both_files_are_written_and_tell_the_same(tmp_path: Path):
    state = write_report(run_folders(tmp_path / "run"), tmp_path / "new" / "report")
    stored = json.loads((tmp_path / "new" / "report" / "report.json").read_text())
    assert stored["verdict"]["state"] == state == "pushed"
    page = (tmp_path / "new" / "report" / "report.html").read_text()
    assert stored["verdict"]["headline"] in page.replace("&#39;", "'")


def test_slices_that_differ_far_from_their_beginnings_keep_rows_of_their_own():
    names = [f"{'a' * 40}{middle}{'z' * 40}" for middle in ("1", "2", "3")] + ["b" * 50 + "1", "b" * 50 + "2"]
    rows = [{"by": "source", "slice": name, "ratio": 1.0 + i} for i, name in enumerate(names)]
    figure = slices_figure(rows, {"ratio": 1.0})
    assert figure is not None
    labels = [trace["y"][0] for trace in figure["data"]]
    assert len(set(labels)) == 6
    assert max(map(len, labels)) < 40


def _slices_row(statuses: list[str]) -> list[dict[str, Any]]:
    checks = [
        {"about": f"Slice {i}", "slice": f"s={i}", "status": status, "sentence": "…"}
        for i, status in enumerate(statuses)
    ]
    rows = page_view({"evaluation": {"checks": checks}})["checks"]
    return [row for row in rows if row["about"] == "Slices"]


@pytest.mark.parametrize(
    ("statuses", "status", "sentence"),
    [
        (["passed", "passed"], "passed", "2 slices: 2 judged, 2 of them within their limit."),
        (
            ["passed", "not judged", "not judged"],
            "not judged",
            "3 slices: 1 judged, 1 of them within their limit; 2 too small to judge.",
        ),
        (["not judged", "not judged"], "not judged", "2 slices: none judged; 2 too small to judge."),
        (["failed", "passed"], "passed", "2 slices: 2 judged, 1 of them within their limit."),
    ],
)
def test_slices_nobody_judged_are_not_said_to_be_good(statuses: list[str], status: str, sentence: str):
    (row,) = _slices_row(statuses)
    assert (row["status"], row["sentence"]) == (status, sentence)


def test_slices_that_all_failed_need_no_row_more():
    assert _slices_row(["failed", "warning"]) == []


def test_a_reported_slice_far_above_its_limit_is_a_warning_however_small(tmp_path: Path):
    gains = {"code": 0.6, "notes": 0.5, "bad": -0.3}
    results = example_results(gains, slices={"min_documents": 50}, max_fraction=1.0)
    assert results["blessed"]
    sources = run_folders(tmp_path)
    (tmp_path / "evaluation" / "results.json").write_text(json.dumps(results))
    page = Page(render_page(report_data(sources)))
    assert "Slice source=bad is too small to be judged" in page.text
    assert "Hold out more of the slice source=bad" in page.text
