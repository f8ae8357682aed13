"""Three runs: a model is pushed, a worse one is not, a better one is tried, promoted and rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.contract.errors import NotBlessedError
from models.contract.labels import LABELS_FILE, Labels
from models.contract.manifest import Manifest
from models.contract.release_log import RELEASES_FILE, ReleaseLog
from models.package import verify_content
from tests.e2e.mill import Mill, make_mill, standing_in, tokenmill, tokenmill_json
from tests.tiny import write_tiny_checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TRAINING = {"sequence_length": 128, "batch_size": 4, "learning_rate": 5e-3}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mill]:
    folder = tmp_path_factory.mktemp("three")
    with standing_in(folder):
        yield make_mill(folder)


def _state(base: Path) -> tuple[bytes, bytes]:
    return (base / LABELS_FILE).read_bytes(), (base / RELEASES_FILE).read_bytes()


def _run(mill: Mill, capfd: pytest.CaptureFixture[str], name: str, **changes: Any) -> dict[str, Any]:
    return tokenmill_json(capfd, "run", "--config", str(mill.write(name, **changes)))


def test_the_story_of_three_runs(mill: Mill, capfd: pytest.CaptureFixture[str]):
    first = _run(mill, capfd, "first", training={**TRAINING, "tokens": 9_000})
    assert (first["state"], first["baseline"]) == ("pushed", "pretrained model")
    one, base = first["pushed_version"], mill.push_base
    assert Labels.load(base).targets == {"stable": one}

    before = _state(base)
    write_tiny_checkpoint(mill.folder / "random", seed=9)
    worse = mill.write(
        "worse",
        model={"name": "tiny", "checkpoint": "random"},
        training={"tokens": 64, "sequence_length": 64, "batch_size": 1, "learning_rate": 1e-9},
    )
    with pytest.raises(NotBlessedError):
        tokenmill("run", "--config", str(worse))
    assert mill.versions() == [str(one)]
    assert _state(base) == before
    second = tokenmill_json(capfd, "runs", "show")
    assert (second["state"], second["baseline"]) == ("not blessed", f"pushed version {one}")

    third = _run(mill, capfd, "better", training={**TRAINING, "tokens": 15_000})
    two = third["pushed_version"]
    assert (third["state"], third["baseline"]) == ("pushed", f"pushed version {one}")
    assert third["ratio"] < 1
    assert mill.versions() == [str(one), str(two)]
    assert Labels.load(base).targets == {"stable": one}

    tried = tokenmill_json(capfd, "canary", "tiny", "--weight", "0.1")
    assert tried["labels"] == {"stable": one, "canary": two}
    assert tokenmill_json(capfd, "promote", "tiny", "--reason", "all quiet")["labels"] == {"stable": two}
    assert tokenmill_json(capfd, "rollback", "tiny")["labels"] == {"stable": one}
    told = [
        (r.action, r.label, r.from_version, r.to_version, r.run_id) for r in ReleaseLog.load(base).records
    ]
    assert told == [
        ("push", "stable", None, one, first["run_id"]),
        ("push", "", None, two, third["run_id"]),
        ("canary", "canary", None, two, third["run_id"]),
        ("promote", "stable", one, two, third["run_id"]),
        ("rollback", "stable", two, one, first["run_id"]),
    ]
    for version in (one, two):
        verify_content(base / str(version), Manifest.load(base / str(version)))


def test_the_lineage_prints_the_chain_of_baselines(mill: Mill, capfd: pytest.CaptureFixture[str]):
    one, two = mill.versions()
    capfd.readouterr()
    tokenmill("runs", "lineage", two)
    told = capfd.readouterr().out
    assert told.index(two) < told.index(one) < told.index("pretrained")
