from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.main import cli
from components.corpus_example_gen.corpus_config import CorpusConfig
from models.contract.errors import ConfigError
from pipeline.config import RunConfig
from pipeline.project import Project, project_name
from preprocessing.corpus_files import list_files
from tests.tiny import write_tiny_checkpoint


def _init(*arguments: str) -> None:
    cli(["init", *arguments], standalone_mode=False)


def test_a_new_project_passes_the_dry_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    folder = tmp_path / "My Model"
    _init(str(folder))
    assert "tokenmill run --dry-run" in capfd.readouterr().out
    monkeypatch.chdir(folder)
    cli(["run", "--dry-run", "--json"], standalone_mode=False)
    assert json.loads(capfd.readouterr().out)["to_make"]["source"].startswith("wheel:")
    assert sorted(path.name for path in folder.iterdir()) == [
        ".gitignore",
        "README.md",
        "corpus",
        "tokenmill.schema.json",
        "tokenmill.yaml",
    ]
    assert (folder / "tokenmill.yaml").read_text().startswith("# yaml-language-server: $schema=")
    config = RunConfig.load(folder / "tokenmill.yaml")
    assert (config.name, config.model.name) == ("my-model", "my-model")


def test_the_options_reach_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint")
    _init(".", "--name", "mine", "--corpus", "texts", "--format", "jsonl", "--checkpoint", str(checkpoint))
    config = RunConfig.load(tmp_path / "tokenmill.yaml")
    assert (config.name, config.model.checkpoint, config.model.source) == ("mine", checkpoint, None)
    assert isinstance(config.corpus, CorpusConfig)
    (source,) = config.corpus.sources
    assert (source.path, source.format) == ("texts", "jsonl")
    assert not (tmp_path / "corpus").exists()
    assert "sample" not in (tmp_path / "README.md").read_text()


def test_nothing_foreign_is_overwritten_and_nothing_half_is_left(tmp_path: Path):
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(ConfigError, match=r"README.md is there already .* nothing was changed"):
        _init(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_a_second_init_writes_only_what_is_missing(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    folder = tmp_path / "p"
    _init(str(folder))
    shutil.rmtree(folder / "corpus")
    capfd.readouterr()
    _init(str(folder), "--json")
    assert json.loads(capfd.readouterr().out)["written"] == [str(folder / "corpus" / "sample.jsonl")]


@pytest.mark.parametrize("place", ["file/below", "file", "/proc/nowhere"])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, place: str):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match=r"cannot be written: .*Name another folder"):
        _init(str(tmp_path / place))


def test_values_that_make_no_configuration_are_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"`name` is 'Up Case'"):
        _init(str(tmp_path / "p"), "--name", "Up Case")
    with pytest.raises(ConfigError, match="Did you mean 'jsonl'"):
        _init(str(tmp_path / "p"), "--format", "jsonnl")
    assert not (tmp_path / "p").exists()


def test_the_sample_has_texts_enough_for_both_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Project("p").write(tmp_path)
    config = RunConfig.load(tmp_path / "tokenmill.yaml")
    (file,) = list_files(config.corpus.sources)
    rows = [json.loads(line) for line in (tmp_path / "corpus" / "sample.jsonl").read_text().splitlines()]
    assert len({row["text"] for row in rows}) == len(rows) >= 20
    assert file.format == "jsonl"
    assert config.corpus.eval_fraction == 0.25


@pytest.mark.parametrize(
    ("folder", "name"),
    [("My Model", "my-model"), ("ü", "tokenmill"), ("a_b.c", "a-b-c"), ("x" * 99, "x" * 63)],
)
def test_names_of_folders_become_names_of_models(tmp_path: Path, folder: str, name: str):
    assert project_name(tmp_path / folder) == name
