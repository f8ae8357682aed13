"""The part of the mill that makes training data, with a new metadata database in an old working directory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TextIO

import pytest
from tfx import v1 as tfx

from components.progress import Progress
from pipeline import pipeline as pipeline_module
from pipeline.config import RunConfig
from pipeline.local_runner import run
from pipeline.run_record import RunRecord
from tests.e2e.mill import make_mill

DATA = ("CorpusExampleGen", "StatisticsGen", "SchemaGen", "Transform")
create_pipeline = pipeline_module.create_pipeline


class Quiet:
    """Sees nothing."""

    def __init__(self, stream: TextIO) -> None:
        del stream

    def component_started(self, component: str, number: int, total: int) -> None: ...
    def component_progress(self, progress: Progress) -> None: ...
    def component_finished(self, component: str, state: str, seconds: float) -> None: ...


def _data_part(config: RunConfig, run_id: str) -> tfx.dsl.Pipeline:
    """The real pipeline without what comes after the training data."""
    whole = create_pipeline(config, run_id)
    corpus = pipeline_module.corpus_example_gen(config.corpus, checkpoint=config.model.tokenizer_directory)
    examples = corpus.outputs["examples"]
    statistics, schema, _ = pipeline_module._checking_components(examples)
    transform = pipeline_module._transform(config, examples, schema.outputs["schema"], {})
    return tfx.dsl.Pipeline(
        pipeline_name=whole.pipeline_info.pipeline_name,
        pipeline_root=whole.pipeline_info.pipeline_root,
        components=[corpus, statistics, schema, transform],
        enable_cache=True,
        metadata_connection_config=whole.metadata_connection_config,
        beam_pipeline_args=whole.beam_pipeline_args,
    )


def _files(record: RunRecord) -> list[Path]:
    folders = [Path(uri) for component in record.components for uri in component.outputs.values()]
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def test_a_run_reads_nothing_that_runs_of_a_removed_database_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline_module, "create_pipeline", _data_part)
    mill = make_mill(tmp_path)
    config = RunConfig.load(mill.write("run"))
    first = run(config, "20260101-first", Quiet)
    before = {path: path.stat().st_mtime_ns for path in _files(first)}
    (config.workdir / "metadata.sqlite").rename(tmp_path / "old.sqlite")
    for path in sorted((tmp_path / "corpus").iterdir())[::2]:
        path.unlink()
    started = time.time()
    second = run(config, "20260102-second", Quiet)
    # The new database gives the ids out again, which is what makes this dangerous.
    assert [Path(uri).name for one in second.components for uri in one.outputs.values()] == [
        Path(uri).name for one in first.components for uri in one.outputs.values()
    ]
    assert [one.state for one in second.components] == ["complete"] * len(DATA)
    assert min(path.stat().st_mtime for path in _files(second)) >= started - 1
    assert {path: path.stat().st_mtime_ns for path in before} == before
