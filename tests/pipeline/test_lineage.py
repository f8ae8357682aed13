from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.main import cli
from models.contract.errors import ConfigError
from models.contract.labels import LABELS_FILE, Labels
from pipeline.lineage import Lineage
from pipeline.lineage_tracer import LineageTracer
from pipeline.run_registry import RunRegistry
from tests.run_history import RunHistory, baseline, pushed, results

FIRST, WORSE, BETTER, AGAIN = "20260101-a", "20260102-b", "20260103-c", "20260104-d"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: pushed, not blessed, pushed against the first; then one that found all unchanged."""
    workdir = tmp_path_factory.mktemp("work")
    history = RunHistory(workdir)
    models = workdir / "models" / "tiny"
    for version in (11, 12):
        (models / str(version)).mkdir(parents=True)
    (models / LABELS_FILE).write_text(Labels(stable=12, previous=(11,)).to_json())
    first = history.run(
        FIRST,
        properties={
            "baseline": baseline(workdir / "checkpoint", "checkpoint", "c0"),
            "pushed_model": pushed(workdir, 11, "c1"),
        },
        results=results(8.0, "pretrained model", 10.0),
    )
    corpus = {"examples": first["examples"]}
    against_first = baseline(models / "11", "package", "c1")
    history.run(
        WORSE,
        properties={"baseline": against_first, "pushed_model": {"pushed": 0}},
        cached=corpus,
        results=results(9.0, "pushed version 11", 8.0),
    )
    # The push directory has been moved since: the baseline is known by its content.
    moved = baseline(Path("/elsewhere/models/tiny/11"), "package", "c1")
    third = history.run(
        BETTER,
        properties={"baseline": moved, "pushed_model": pushed(workdir, 12, "c2")},
        cached=corpus,
        results=results(6.0, "pushed version 11", 8.0),
    )
    history.run(
        AGAIN,
        properties={
            "baseline": baseline(models / "12", "package", "c2"),
            "pushed_model": pushed(workdir, 12, "c2", new=0),
        },
        cached={**corpus, "model": third["model"]},
        results=results(6.0, "pushed version 12", 6.0),
    )
    return workdir


def _trace(workdir: Path, target: str | None = None) -> Lineage:
    registry = RunRegistry.of_workdir(workdir)
    graph = registry.graph()
    return LineageTracer(graph, registry.list(graph)).trace(target)


def test_the_newest_version_s_chain_ends_at_the_pretrained_model(workdir: Path):
    found = _trace(workdir)
    assert found.title == "version tiny:12"
    assert [(link.version, link.run_id, link.labels) for link in found.chain] == [
        (12, BETTER, ("stable",)),
        (11, FIRST, ()),
        (None, "", ()),
    ]
    assert found.chain[0].perplexity == 6.0
    assert found.chain[0].ratio == 0.75
    assert [link.present for link in found.chain] == [True, True, False]


def test_steps_lead_back_through_the_cache_to_the_run_that_did_the_work(workdir: Path):
    found = _trace(workdir, "12")
    made = {step.component: (step.run_id, step.state) for step in found.steps}
    assert made == {
        "CorpusExampleGen": (FIRST, "complete"),
        "Trainer": (BETTER, "complete"),
        "BaselineLookup": (BETTER, "complete"),
        "PerplexityEvaluator": (BETTER, "complete"),
        "Pusher": (BETTER, "complete"),
    }
    seen: set[int] = set()
    for step in found.steps:
        assert set(step.read) <= seen
        seen |= set(step.written)
    assert seen == set(found.artifacts)


def test_forward_tells_who_was_measured_against_it_and_who_took_from_cache(workdir: Path):
    found = _trace(workdir, "tiny:11").to_json()["forward"]
    assert found["judged_against"] == [
        {"run_id": WORSE, "state": "not blessed", "version": None},
        {"run_id": BETTER, "state": "pushed", "version": 12},
    ]
    assert found["reused_by"] == [
        {"run_id": run_id, "components": ["CorpusExampleGen"]} for run_id in (WORSE, BETTER, AGAIN)
    ]


def test_a_run_that_pushed_nothing_has_its_baseline_s_chain(workdir: Path):
    found = _trace(workdir, WORSE)
    assert (found.title, found.target) == (f"run {WORSE}", None)
    assert [link.version for link in found.chain] == [11, None]


def test_a_run_that_found_all_unchanged_is_not_the_origin(workdir: Path):
    assert _trace(workdir, AGAIN).target is None
    assert _trace(workdir, BETTER).target == _trace(workdir, "12").target
    assert _trace(workdir, str(workdir / "models" / "tiny" / "12")).target == _trace(workdir, "12").target


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("2026", "names 4 recorded runs"),
        ("99", "names 0 recorded runs and no version"),
        ("other:12", "no version"),
    ],
)
def test_what_names_nothing_or_several_things_is_refused(workdir: Path, target: str, message: str):
    with pytest.raises(ConfigError, match=message):
        _trace(workdir, target)


def test_no_run_at_all(tmp_path: Path):
    with pytest.raises(ConfigError, match="no run is recorded yet"):
        _trace(tmp_path)


def test_a_removed_version_and_one_unknown_to_the_store_end_the_chain(tmp_path: Path):
    history = RunHistory(tmp_path)
    history.run(
        FIRST,
        properties={
            "baseline": baseline(tmp_path / "models" / "tiny" / "5", "package", "gone"),
            "pushed_model": pushed(tmp_path, 11, "c1"),
        },
        results=results(8.0, "pushed version 5", 10.0),
    )
    chain = _trace(tmp_path).chain
    assert [(link.version, link.present, link.recorded) for link in chain] == [
        (11, False, True),
        (5, False, False),
    ]


def _printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    cli(["runs", *arguments], standalone_mode=False)
    return capfd.readouterr().out


def test_the_command_prints_tree_json_and_graphs(workdir: Path, capfd: pytest.CaptureFixture[str]):
    where = ("--workdir", str(workdir))
    tree = _printed(capfd, "lineage", *where)
    assert re.search(r"tiny:12  stable.*\n.*tiny:11 .*\n.*pretrained model", tree)
    assert f"examples ← CorpusExampleGen  0 s  of run {FIRST}" in tree
    assert f"as the baseline of run {WORSE}" in _printed(capfd, "lineage", "11", *where)
    value: dict[str, Any] = json.loads(_printed(capfd, "lineage", *where, "--json"))
    assert [link["version"] for link in value["chain"]] == [12, 11, None]
    assert value["run_id"] == BETTER
    assert _printed(capfd, "lineage", "--mermaid", *where).startswith("flowchart BT\n  v0([")
    graph = _printed(capfd, "lineage", "--dot", *where)
    assert graph.startswith("digraph lineage {")
    assert 'v1 -> v0 [label="baseline"]' in graph


def test_an_empty_target_is_refused(workdir: Path):
    registry = RunRegistry.of_workdir(workdir)
    with pytest.raises(ConfigError, match="what to trace is empty"):
        LineageTracer(registry.graph(), registry.list()).trace("")
    with pytest.raises(ConfigError, match="the run's id is empty"):
        registry.show("")
