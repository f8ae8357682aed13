"""The whole mill on a tiny model: run, run again, run worse, run on nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest
import tensorflow as tf
import yaml
from safetensors.numpy import load_file, save_file

from cli.main import cli
from components.progress import Progress
from components.pusher.release_directory import LOCK_FILE
from models.contract.errors import DataError, NotBlessedError
from models.contract.labels import LABELS_FILE
from models.contract.manifest import Manifest
from models.contract.release_log import RELEASES_FILE
from models.package import verify_content
from pipeline.config import RunConfig
from pipeline.local_runner import run
from serving.runners.local_runner import LocalRunner
from tests.tiny import write_tiny_checkpoint

pytestmark = pytest.mark.slow

MODULES = 14
FUNCTION = "def function_{i}_{j}(a, b):\n    return a + b * {j}\n\n"


@dataclass(frozen=True)
class Mill:
    """A folder to run in.

    Args:
        folder: current directory of the runs.
        settings: of a run that trains well.
    """

    folder: Path
    settings: dict[str, Any]

    def write(self, name: str, **changes: Any) -> Path:
        """A config file with some sections changed."""
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**self.settings, **changes}))
        return path

    def versions(self) -> list[str]:
        """Entries of the model's push directory, hidden ones too, but for those that always are there."""
        entries = set(os.listdir(self.folder / ".tokenmill" / "models" / "tiny"))
        return sorted(entries - {LOCK_FILE, LABELS_FILE, RELEASES_FILE})


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mill]:
    folder = tmp_path_factory.mktemp("mill")
    before = Path.cwd()
    os.chdir(folder)
    write_tiny_checkpoint(folder / "checkpoint")
    for i in range(MODULES):
        (folder / "corpus").mkdir(exist_ok=True)
        text = "".join(FUNCTION.format(i=i, j=j) for j in range(20))
        (folder / "corpus" / f"module{i}.py").write_text(f'"""Module {i}."""\n\n{text}')
    yield Mill(
        folder,
        {
            "name": "tiny",
            "model": {"name": "tiny", "checkpoint": "checkpoint"},
            "corpus": {"sources": [{"name": "code", "path": "corpus"}], "eval_fraction": 0.25},
            "training": {"tokens": 15_000, "sequence_length": 128, "batch_size": 4, "learning_rate": 5e-3},
            "export": {"max_length": 96, "kv_tokens": 384, "block_size": 8},
            "evaluation": {"context": 64, "stride": 64, "num_tokens": 1500, "batch_size": 16},
            "gate": {"max_fraction": 0.5},
            "validation": {"max_tokens": 9},
            "completion": {"max_tokens": 8},
        },
    )
    os.chdir(before)


class StopAtTransform:
    """Stops a run from outside, as Ctrl-C does, after the corpus was read."""

    def __init__(self, stream: TextIO) -> None:
        del stream

    def component_started(self, component: str, number: int, total: int) -> None:
        if component == "Transform":
            raise KeyboardInterrupt

    def component_progress(self, progress: Progress) -> None: ...
    def component_finished(self, component: str, state: str, seconds: float) -> None: ...


def _tokenmill(*arguments: str) -> None:
    cli(list(arguments), standalone_mode=False)


def _json(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capfd.readouterr()
    _tokenmill(*arguments, "--json")
    return json.loads(capfd.readouterr().out)


def _states(record: dict[str, Any]) -> dict[str, str]:
    return {component["id"]: component["state"] for component in record["components"]}


@pytest.fixture(scope="module")
def interrupted(mill: Mill) -> str:
    config = RunConfig.load(mill.write("good"))
    with pytest.raises(KeyboardInterrupt):
        run(config, "20200101-000000-0000", StopAtTransform)
    return "20200101-000000-0000"


def test_1_an_interrupted_run_is_listed_as_such(
    mill: Mill, interrupted: str, capfd: pytest.CaptureFixture[str]
):
    (record,) = _json(capfd, "runs", "list")
    assert (record["run_id"], record["state"]) == (interrupted, "interrupted")
    assert _states(record)["CorpusExampleGen"] == "complete"
    assert not (mill.folder / ".tokenmill" / "models").exists()


def test_2_the_next_run_goes_on_and_pushes(mill: Mill, interrupted: str, capfd: pytest.CaptureFixture[str]):
    record = _json(capfd, "run", "--config", str(mill.write("good")))
    assert record["state"] == "pushed"
    assert record["baseline"] == "pretrained model"
    assert record["perplexity"] < 0.5 * record["baseline_perplexity"]
    low, high = record["interval"]
    assert low <= record["ratio"] <= high < 1
    assert record["scored"] >= 1500
    assert (record["blessed"], record["servable"]) == (True, True)
    assert isinstance(record["completion"], str)
    states = _states(record)
    assert states["CorpusExampleGen"] == states["SchemaGen"] == "cached"
    assert states["Trainer"] == states["Pusher"] == "complete"
    assert mill.versions() == [str(record["pushed_version"])]
    package = Path(record["pushed_path"])
    manifest = Manifest.load(package)
    verify_content(package, manifest)
    assert manifest.run_id == record["run_id"]
    assert manifest.evaluation["perplexity"] == record["perplexity"]


def test_3_the_package_makes_the_ids_that_were_trained_on(mill: Mill, capfd: pytest.CaptureFixture[str]):
    record = _json(capfd, "runs", "show")
    outputs = {component["id"]: component["outputs"] for component in record["components"]}
    features = {"path": tf.io.FixedLenFeature([], tf.string), "ids": tf.io.VarLenFeature(tf.int64)}
    trained = {}
    for file in Path(outputs["Transform"]["transformed_examples"]).glob("Split-train/*"):
        for record_bytes in tf.data.TFRecordDataset(str(file), compression_type="GZIP"):
            example = tf.io.parse_single_example(record_bytes, features)
            trained[example["path"].numpy().decode()] = example["ids"].values.numpy().tolist()
    with LocalRunner(Path(outputs["Exporter"]["package"]) / "Format-Serving") as runner:
        served = runner.tokenize([(mill.folder / "corpus" / path).read_text() for path in trained])
    assert len(trained) > MODULES // 2
    assert list(trained.values()) == served


def test_3_show_finds_the_newest_run_and_one_by_its_beginning(
    mill: Mill, interrupted: str, capfd: pytest.CaptureFixture[str]
):
    newest = _json(capfd, "runs", "show")
    assert newest["state"] == "pushed"
    assert len(newest["components"]) == 11
    assert all(component["outputs"] for component in newest["components"])
    assert _json(capfd, "runs", "show", interrupted[:8])["run_id"] == interrupted
    _tokenmill("runs", "show")
    assert "95% interval" in capfd.readouterr().out


def test_4_an_unchanged_run_answers_from_cache_but_evaluates_anew(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    before = mill.versions()
    record = _json(capfd, "run", "--config", str(mill.write("good")))
    states = _states(record)
    renewed = {name for name, state in states.items() if state != "cached"}
    assert renewed == {"BaselineLookup", "PerplexityEvaluator", "Pusher"}
    assert record["baseline"] == f"pushed version {before[0]}"
    assert record["ratio"] == 1.0
    assert record["state"] == "unchanged"
    assert mill.versions() == before


def test_5_a_worse_model_is_not_blessed_and_not_pushed(mill: Mill, capfd: pytest.CaptureFixture[str]):
    before = mill.versions()
    write_tiny_checkpoint(mill.folder / "random", seed=9)
    worse = mill.write(
        "worse",
        model={"name": "tiny", "checkpoint": "random"},
        training={"tokens": 64, "sequence_length": 64, "batch_size": 1, "learning_rate": 1e-9},
    )
    with pytest.raises(NotBlessedError, match=r"pushed nothing: .*pushed version") as caught:
        _tokenmill("run", "--config", str(worse))
    assert caught.value.codes.exit == 5
    assert mill.versions() == before
    assert "not blessed" in capfd.readouterr().err
    record = _json(capfd, "runs", "show")
    assert (record["state"], record["blessed"], record["pushed_version"]) == ("not blessed", False, None)
    assert any("gate.max_ratio" in reason for reason in record["reasons"])


def test_5_a_model_of_nan_is_not_blessed_and_not_pushed(mill: Mill, capfd: pytest.CaptureFixture[str]):
    before = mill.versions()
    weights = write_tiny_checkpoint(mill.folder / "nan") / "model.safetensors"
    tensors = load_file(weights)
    tensors["model.norm.weight"][3] = np.nan
    save_file(tensors, weights)
    broken = mill.write("nan", model={"name": "tiny", "checkpoint": "nan"})
    with pytest.raises(NotBlessedError, match=r"loss became nan at step 1.*weights are finite") as caught:
        _tokenmill("run", "--config", str(broken))
    assert caught.value.codes.exit == 5
    assert mill.versions() == before
    record = _json(capfd, "runs", "show")
    assert (record["state"], record["pushed_version"]) == ("failed", None)
    assert "loss became nan" in record["error"]


def test_6_an_empty_and_a_missing_corpus_are_named_and_leave_nothing(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    (mill.folder / "empty").mkdir()
    runs = _json(capfd, "runs", "list")
    artifacts = sorted((mill.folder / ".tokenmill" / "artifacts").rglob("*"))
    for path in ("empty", "nowhere"):
        config = mill.write(path, corpus={"sources": [{"name": "code", "path": path}]})
        with pytest.raises(DataError, match=path) as caught:
            _tokenmill("run", "--config", str(config))
        assert caught.value.codes.exit == 3
    assert sorted((mill.folder / ".tokenmill" / "artifacts").rglob("*")) == artifacts
    assert _json(capfd, "runs", "list") == runs


def test_7_nothing_of_tensorflow_s_chatter_reaches_the_terminal(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    _json(capfd, "runs", "list")
    capfd.readouterr()
    _tokenmill("run", "--config", str(mill.write("good")))
    shown = capfd.readouterr()
    lines = [line for line in shown.err.splitlines() if line.strip()]
    assert not [line for line in lines if "WARNING" in line or "absl" in line or line.startswith("I0")]
    assert any("Trainer" in line and "unchanged" in line for line in lines)
    assert (mill.folder / ".tokenmill" / "runs").is_dir()
