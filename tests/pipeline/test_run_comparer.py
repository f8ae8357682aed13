from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pytest

from cli.main import cli
from components.corpus_example_gen.report_file import REPORT
from models.contract.errors import ConfigError
from pipeline.comparison_report import comparison_tables
from pipeline.run_comparer import RunComparer, flatten
from pipeline.run_comparison import RunComparison
from pipeline.run_registry import RunRegistry
from pipeline.terminal import PlainConsole
from tests.run_history import RunHistory, results

FIRST, SECOND, THIRD, FOURTH = "20260101-a", "20260102-b", "20260103-c", "20260104-d"
CONFIG = (
    "name: demo\ntraining: {{tokens: {tokens}, seed: 0}}\ncorpus:\n  sources: [{{name: a, path: {path}}}]\n"
)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on one corpus, a third on another; all settings of the third are lost."""
    workdir = tmp_path_factory.mktemp("work")
    history = RunHistory(workdir)
    first = history.run(
        FIRST, results=results(8.0, "pretrained model", 10.0), config=CONFIG.format(tokens=10, path="x")
    )
    history.run(
        SECOND,
        results=results(7.0, "pretrained model", 10.0),
        cached={"examples": first["examples"]},
        config=CONFIG.format(tokens=20, path="x"),
    )
    history.run(THIRD, config=CONFIG.format(tokens=20, path="y"))
    history.run(
        FOURTH,
        results={**results(3.0, "untrained model", 250.0), "bytes": 150},
        cached={"examples": first["examples"]},
    )
    for run_id, documents in ((FIRST, 5), (THIRD, 6)):
        report = {"documents": documents, "splits": {"train": {"documents": documents - 1}}, "same": [1, 2]}
        (workdir / "artifacts" / run_id / "examples" / REPORT).write_text(json.dumps(report))
    (workdir / "runs" / THIRD / "config.yaml").unlink()
    return workdir


def _compare(workdir: Path, *run_ids: str) -> RunComparison:
    return RunComparer(RunRegistry.of_workdir(workdir)).compare(run_ids)


def test_settings_that_differ_are_told_and_no_others(workdir: Path):
    found = _compare(workdir, FIRST, SECOND)
    assert found.settings == {"training.tokens": [10, 20]}
    assert found.data == {}
    assert found.same_text
    assert found.figures["perplexity"] == [8.0, 7.0]
    assert found.figures["perplexity_interval"] == [(7.0, 9.0), (6.0, 8.0)]
    assert found.seconds["CorpusExampleGen"][1] is None


def test_perplexities_of_another_vocabulary_do_not_compare(workdir: Path):
    assert not _compare(workdir, FIRST, FOURTH).same_text


def test_data_that_differs_is_told_and_lost_settings_are_named(workdir: Path):
    found = _compare(workdir, FIRST, THIRD)
    assert found.data == {"documents": [5, 6], "splits.train.documents": [4, 5]}
    assert (found.settings, found.unknown_settings) == ({}, (THIRD,))
    assert not found.same_text
    assert found.figures["perplexity"] == [8.0, None]


def test_the_order_is_that_of_the_arguments(workdir: Path):
    found = _compare(workdir, THIRD, "20260102", FIRST)
    assert [run.run_id for run in found.runs] == [THIRD, SECOND, FIRST]


@pytest.mark.parametrize(
    ("run_ids", "message"),
    [((FIRST,), "given 1 run"), ((FIRST, FIRST), "given 1 run"), ((FIRST, "2026"), "names 4 recorded runs")],
)
def test_fewer_than_two_runs_are_refused(workdir: Path, run_ids: tuple[str, ...], message: str):
    with pytest.raises(ConfigError, match=message):
        _compare(workdir, *run_ids)


def test_the_command_prints_tables_and_json(workdir: Path, capfd: pytest.CaptureFixture[str]):
    where = ["--workdir", str(workdir)]
    cli(["runs", "compare", FIRST, THIRD, *where], standalone_mode=False)
    shown = capfd.readouterr().out
    assert "splits.train.documents" in shown
    assert "only changes against a baseline compare" in shown
    assert f"The settings of {THIRD} are not known here." in shown
    cli(["runs", "compare", FIRST, SECOND, *where, "--json"], standalone_mode=False)
    assert json.loads(capfd.readouterr().out)["runs"] == [FIRST, SECOND]


def test_nested_values_become_dotted_names():
    value = {"a": {"b": 1, "c": {}}, "d": [1, "x"], "e": [{"f": 2}], "g": None}
    assert dict(flatten(value)) == {"a.b": 1, "a.c": {}, "d": [1, "x"], "e[0].f": 2, "g": None}


def test_figures_are_written_for_people(workdir: Path):
    found = _compare(workdir, FIRST, SECOND)
    figures = {
        "perplexity": [26581.1234, 4.5],
        "scored": [20951, 7],
        "pushed_version": [1795974558, None],
        "training_trainable_share": [1.0, 0.0123],
        "training_tokens_per_second": [1234.5, 9.0],
        "training_method": ["full", "lora"],
    }
    console = PlainConsole(file=io.StringIO(), width=200)
    for part in comparison_tables(dataclasses.replace(found, figures=figures)):
        console.print(part)
    text = console.file.getvalue()
    for figure in ("26,581.123", "20,951", "1795974558", "100.00%", "1.23%", "1,234", "lora"):
        assert figure in text
    assert "e+" not in text
