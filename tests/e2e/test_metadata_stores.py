"""A TFX pipeline on each kind of database server, twice: the second time from cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest
import yaml
from tfx import v1 as tfx

from cli.main import cli
from components.corpus_example_gen.component import corpus_example_gen
from components.metadata.connection_proto import connection_proto
from components.progress import Progress
from pipeline import pipeline as pipeline_module
from pipeline.config import RunConfig
from pipeline.local_runner import run
from pipeline.metadata_database import CONNECTION_FILE
from pipeline.pipeline import BEAM_ARGS
from preprocessing.preprocessing_fn import PREPROCESSING_FN, transform_config
from tests.database_servers import PASSWORD, USER, DatabaseServer, database_server, missing_program
from tests.tiny import write_tiny_checkpoint

pytestmark = [pytest.mark.system, pytest.mark.slow]
DATA = ["CorpusExampleGen", "StatisticsGen", "SchemaGen", "Transform"]
ALL_BUT_DATA = {"BaselineLookup", "PerplexityEvaluator", "Pusher", "Reporter"}


class Quiet:
    """Sees nothing."""

    def __init__(self, stream: TextIO) -> None:
        del stream

    def component_started(self, component: str, number: int, total: int) -> None: ...
    def component_progress(self, progress: Progress) -> None: ...
    def component_finished(self, component: str, state: str, seconds: float) -> None: ...


@pytest.fixture(params=["postgresql", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[DatabaseServer]:
    reason = missing_program(request.param)
    if reason:
        pytest.skip(reason)
    with database_server(request.param) as running:
        yield running


@pytest.fixture
def config(server: DatabaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RunConfig, Path]:
    """A configuration of the tiny mill on the store, and its file; the prompts hold quotes and escapes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILL_PASSWORD", PASSWORD)
    write_tiny_checkpoint(tmp_path / "checkpoint")
    (tmp_path / "corpus").mkdir()
    for i in range(14):
        lines = [f"def function_{i}_{j}(a, b):\n    return a + b * {j}\n\n" for j in range(20)]
        (tmp_path / "corpus" / f"module{i}.py").write_text("".join(lines))
    settings: dict[str, Any] = {
        "name": "tiny",
        "model": {"name": "tiny", "checkpoint": "checkpoint"},
        "corpus": {
            "sources": [{"name": "code", "path": "corpus", "exclude": ['**/it\'s \\ "x" é 汉 🎉']}],
            "eval_fraction": 0.25,
        },
        "training": {"tokens": 12_000, "sequence_length": 128, "batch_size": 4, "learning_rate": 5e-3},
        "export": {"max_length": 96, "kv_tokens": 384, "block_size": 8},
        "evaluation": {"context": 64, "stride": 64, "batch_size": 16, "samples": {"prompts": 0}},
        "gate": {"max_fraction": 1.0},
        "validation": {"max_tokens": 3, "prompts": ['the "mill"\n\tit\'s \\ é 汉 🎉']},
    }
    settings["metadata"] = {
        "kind": server.kind,
        "host": "127.0.0.1",
        "port": server.port,
        "database": "mill",
        "user": USER,
        "password_env": "MILL_PASSWORD",
    }
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(settings))
    return RunConfig.load(file), file


def _data_part(config: RunConfig, run_id: str) -> tfx.dsl.Pipeline:
    """Transform has several outputs, whose names a store must keep apart."""
    corpus = corpus_example_gen(config.corpus, checkpoint=config.model.checkpoint)
    examples = corpus.outputs["examples"]
    statistics = tfx.components.StatisticsGen(examples=examples)
    schema = tfx.components.SchemaGen(statistics=statistics.outputs["statistics"])
    transform = tfx.components.Transform(
        examples=examples,
        schema=schema.outputs["schema"],
        preprocessing_fn=PREPROCESSING_FN,
        custom_config=transform_config(config.model.checkpoint),
        disable_statistics=True,
    )
    return tfx.dsl.Pipeline(
        pipeline_name=config.name,
        pipeline_root=str(config.run_root(run_id)),
        components=[corpus, statistics, schema, transform],
        enable_cache=True,
        metadata_connection_config=connection_proto(config.metadata_connection, with_password=False),
        beam_pipeline_args=list(BEAM_ARGS),
    )


def _states(record: Any) -> dict[str, str]:
    return {component.id: component.state for component in record.components}


def _stays_secret(folder: Path) -> None:
    secret = PASSWORD.encode()
    found = [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert found == []


def test_the_data_part_runs_and_answers_from_cache(
    config: tuple[RunConfig, Path],
    server: DatabaseServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    settings, file = config
    monkeypatch.setattr(pipeline_module, "create_pipeline", _data_part)
    first = run(settings, "20260101-first", Quiet)
    assert _states(first) == dict.fromkeys(DATA, "complete")
    second = run(settings, "20260102-second", Quiet)
    assert _states(second) == dict.fromkeys(DATA, "cached")
    # What came from cache is what was made, under the same names.
    assert [one.outputs for one in second.components] == [one.outputs for one in first.components]
    for arguments in (["list"], ["list", "--config", str(file)]):
        capfd.readouterr()
        cli(["runs", *arguments, "--json"], standalone_mode=False)
        shown = capfd.readouterr()
        found = [record["run_id"] for record in json.loads(shown.out)]
        assert found == ["20260102-second", "20260101-first"]
        assert shown.err == ""
    facts = json.loads((settings.workdir / CONNECTION_FILE).read_text())
    assert (facts["kind"], facts["port"]) == (server.kind, server.port)
    _stays_secret(settings.workdir)


@pytest.mark.soak
def test_the_whole_mill_runs_and_answers_from_cache(config: tuple[RunConfig, Path]):
    settings, _ = config
    first = run(settings, "20260101-first", Quiet)
    assert first.state == "pushed"
    second = run(settings, "20260102-second", Quiet)
    assert second.state == "unchanged"
    assert {name for name, state in _states(second).items() if state != "cached"} == ALL_BUT_DATA
    _stays_secret(settings.workdir)
