"""The whole mill on a tiny model: run, run again, run worse, run on nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from components.progress import Progress
from models.contract.errors import DataError, NotBlessedError
from models.contract.manifest import Manifest
from models.package import verify_content
from pipeline.config import RunConfig
from pipeline.local_runner import run
from serving.runners.local_runner import LocalRunner
from tests.e2e.mill import MODULES, Mill, make_mill, standing_in, tokenmill, tokenmill_json
from tests.tiny import write_tiny_checkpoint

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mill]:
    folder = tmp_path_factory.mktemp("mill")
    with standing_in(folder):
        yield make_mill(folder)


class StopAtTransform:
    """Stops a run from outside, as Ctrl-C does, after the corpus was read."""

    def __init__(self, stream: TextIO) -> None:
        del stream

    def component_started(self, component: str, number: int, total: int) -> None:
        if component == "Transform":
            raise KeyboardInterrupt

    def component_progress(self, progress: Progress) -> None: ...
    def component_finished(self, component: str, state: str, seconds: float) -> None: ...


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
    (record,) = tokenmill_json(capfd, "runs", "list")
    assert (record["run_id"], record["state"]) == (interrupted, "interrupted")
    assert _states(record)["CorpusExampleGen"] == "complete"
    assert not (mill.folder / ".tokenmill" / "models").exists()


def test_2_the_next_run_goes_on_and_pushes(mill: Mill, interrupted: str, capfd: pytest.CaptureFixture[str]):
    record = tokenmill_json(capfd, "run", "--config", str(mill.write("good")))
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
    assert not (mill.folder / ".tokenmill" / "tmp").exists()
    package = Path(record["pushed_path"])
    manifest = Manifest.load(package)
    verify_content(package, manifest)
    assert manifest.run_id == record["run_id"]
    assert manifest.evaluation["perplexity"] == record["perplexity"]


def test_3_the_package_makes_the_ids_that_were_trained_on(mill: Mill, capfd: pytest.CaptureFixture[str]):
    record = tokenmill_json(capfd, "runs", "show")
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
    newest = tokenmill_json(capfd, "runs", "show")
    assert newest["state"] == "pushed"
    assert len(newest["components"]) == 12
    page = Path(newest["report_path"])
    assert "Blessed and pushed as version" in page.read_text(encoding="utf-8")
    data = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert data["evaluation"]["perplexity"] == newest["perplexity"]
    assert data["training"]["loss_curve"]
    assert data["data"]["splits"]
    assert data["run_id"] == newest["run_id"]
    assert all(component["outputs"] for component in newest["components"])
    assert tokenmill_json(capfd, "runs", "show", interrupted[:8])["run_id"] == interrupted
    tokenmill("runs", "show")
    assert "95% interval" in capfd.readouterr().out


def test_4_an_unchanged_run_answers_from_cache_but_evaluates_anew(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    before = mill.versions()
    record = tokenmill_json(capfd, "run", "--config", str(mill.write("good")))
    states = _states(record)
    renewed = {name for name, state in states.items() if state != "cached"}
    assert renewed == {"BaselineLookup", "PerplexityEvaluator", "Pusher", "Reporter"}
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
        tokenmill("run", "--config", str(worse))
    assert caught.value.codes.exit == 5
    assert mill.versions() == before
    assert "not blessed" in capfd.readouterr().err
    record = tokenmill_json(capfd, "runs", "show")
    assert (record["state"], record["blessed"], record["pushed_version"]) == ("not blessed", False, None)
    assert any("gate.max_ratio" in reason for reason in record["reasons"])


def test_5_a_model_of_nan_is_not_blessed_and_not_pushed(mill: Mill, capfd: pytest.CaptureFixture[str]):
    before = mill.versions()
    weights = write_tiny_checkpoint(mill.folder / "nan") / "model.safetensors"
    tensors = load_file(weights)
    tensors["model.norm.weight"][3] = np.nan
    save_file(tensors, weights)
    broken = mill.write("nan", model={"name": "tiny", "checkpoint": "nan"})
    with pytest.raises(NotBlessedError, match=r"loss became nan after step 0.*weights are finite") as caught:
        tokenmill("run", "--config", str(broken))
    assert caught.value.codes.exit == 5
    assert mill.versions() == before
    record = tokenmill_json(capfd, "runs", "show")
    assert (record["state"], record["pushed_version"]) == ("failed", None)
    assert "loss became nan" in record["error"]


def test_6_an_empty_and_a_missing_corpus_are_named_and_leave_nothing(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    (mill.folder / "empty").mkdir()
    runs = tokenmill_json(capfd, "runs", "list")
    artifacts = sorted((mill.folder / ".tokenmill" / "artifacts").rglob("*"))
    for path in ("empty", "nowhere"):
        config = mill.write(path, corpus={"sources": [{"name": "code", "path": path}]})
        with pytest.raises(DataError, match=path) as caught:
            tokenmill("run", "--config", str(config))
        assert caught.value.codes.exit == 3
    assert sorted((mill.folder / ".tokenmill" / "artifacts").rglob("*")) == artifacts
    assert tokenmill_json(capfd, "runs", "list") == runs


def test_7_nothing_of_tensorflow_s_chatter_reaches_the_terminal(
    mill: Mill, capfd: pytest.CaptureFixture[str]
):
    tokenmill_json(capfd, "runs", "list")
    capfd.readouterr()
    tokenmill("run", "--config", str(mill.write("good")))
    shown = capfd.readouterr()
    lines = [line for line in shown.err.splitlines() if line.strip()]
    assert not [line for line in lines if "WARNING" in line or "absl" in line or line.startswith("I0")]
    assert any("Trainer" in line and "unchanged" in line for line in lines)
    assert (mill.folder / ".tokenmill" / "runs").is_dir()
