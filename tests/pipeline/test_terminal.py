"""Hostile text through every table and line that people read."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import RenderableType

from models.contract.labels import Labels
from models.contract.release_log import ReleaseLog
from models.contract.release_record import ReleaseRecord
from pipeline.comparison_report import comparison_tables
from pipeline.component_run import ComponentRun
from pipeline.graph_artifact import GraphArtifact
from pipeline.graph_execution import GraphExecution
from pipeline.lineage import Lineage
from pipeline.lineage_report import lineage_view
from pipeline.release_report import releases_table, versions_table
from pipeline.release_status import ReleaseStatus, VersionStatus
from pipeline.run_comparison import RunComparison
from pipeline.run_record import RunRecord
from pipeline.run_report import components_table, run_table, runs_table
from pipeline.terminal import UNKNOWN_WIDTH, PlainConsole, styled, visible
from pipeline.version_origin import VersionOrigin

HOSTILE = "[red]x[/nope] [bold]b[/bold] :smile: \x1b[2J\x9b1m\a\u202e[/]"
SHOWN = r"[red]x[/nope] [bold]b[/bold] :smile: \x1b[2J\x9b1m\x07\u202e[/]"
RUN = RunRecord(
    HOSTILE,
    HOSTILE,
    HOSTILE,
    0.0,
    1.0,
    error=HOSTILE,
    scored=1,
    baseline=HOSTILE,
    reasons=(HOSTILE,),
    report_path=HOSTILE,
    components=(ComponentRun(HOSTILE, HOSTILE, 0.0, 1.0, {HOSTILE: HOSTILE}),),
)
RELEASE = ReleaseRecord(1, HOSTILE, "push", to_version=7, who=HOSTILE, reason=HOSTILE)
VERSION = VersionOrigin(7, HOSTILE, HOSTILE, HOSTILE, run_id=HOSTILE)
STATUS = ReleaseStatus(
    HOSTILE,
    Path(HOSTILE) / "m",
    Labels(stable=7),
    (VersionStatus(7, "stable", 1.0, run_id=HOSTILE, content_hash=HOSTILE, problem=HOSTILE),),
    ReleaseLog((RELEASE,)),
)
COMPARISON = RunComparison(
    runs=(RUN, dataclasses.replace(RUN, run_id="other")),
    settings={},
    unknown_settings=(HOSTILE,),
    data={HOSTILE: [HOSTILE, 1]},
    figures={"state": [HOSTILE, "pushed"]},
    seconds={HOSTILE: [1.0, None]},
    same_text=False,
)


STEP = GraphExecution(1, HOSTILE, HOSTILE, HOSTILE, inputs={HOSTILE: (3,)}, outputs={"o": (4,)})
LINEAGE = Lineage(
    None,
    RUN,
    STEP,
    (VERSION, VersionOrigin(None, "", HOSTILE, "")),
    (STEP,),
    {number: GraphArtifact(number, "Thing", HOSTILE) for number in (3, 4)},
    (RELEASE,),
    (RUN,),
    (RUN,),
    {HOSTILE: (HOSTILE,)},
)
VIEWS = {
    "runs": [runs_table([RUN])],
    "run": [run_table(RUN)],
    "components": [components_table(RUN)],
    "versions": [versions_table(STATUS)],
    "releases": [releases_table(STATUS, 9)],
    "comparison": comparison_tables(COMPARISON),
    "lineage": [lineage_view(LINEAGE)],
    "line": [HOSTILE],
}


def _printed(*parts: RenderableType, width: int = 400) -> str:
    console = PlainConsole(file=io.StringIO(), width=width)
    for part in parts:
        console.print(part)
    return console.file.getvalue()


def _controls(text: str) -> set[str]:
    return {one for one in text if one != "\n" and visible(one) != one}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [2000, 40])
def test_text_from_outside_is_shown_as_it_is(view: str, width: int):
    text = _printed(*VIEWS[view], width=width)
    assert _controls(text) == set()
    if width > 1000:
        assert SHOWN in text
    else:
        # Folded, and nothing of it lost.
        assert "".join(SHOWN.split()) in "".join(one for one in text if one not in " \n│├└─╭╮╰╯")


def test_a_terminal_gets_no_escapes_but_those_of_the_styles():
    console = PlainConsole(file=io.StringIO(), force_terminal=True, color_system=None, width=300)
    console.print(run_table(RUN), HOSTILE, styled((HOSTILE, "bold")))
    assert _controls(console.file.getvalue()) <= {"\x1b"}
    assert "\x1b[2J" not in console.file.getvalue()


@given(st.text())
def test_what_is_visible_has_no_control_characters_and_plain_text_stays(text: str):
    shown = visible(text)
    assert _controls(shown) == set()
    assert "\n" not in shown
    assert visible(shown) == shown


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("", UNKNOWN_WIDTH), ("wide", UNKNOWN_WIDTH)])
def test_a_file_is_as_wide_as_columns_says(columns: str, width: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert PlainConsole(file=io.StringIO()).width == width
