"""A training killed again and again with SIGKILL ends as one that was never interrupted."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.components.trainer.killed_training import run
from tests.components.trainer.transformed import write_splits
from tests.tiny import write_tiny_checkpoint

TRAINING = {
    "tokens": 12 * 64,
    "sequence_length": 32,
    "batch_size": 2,
    "learning_rate": 0.3,
    "save_every_steps": 2,
    "validation": {"every_steps": 2, "tokens": 64},
    "early_stopping": {"patience": 2},
}


@pytest.fixture(scope="module")
def context() -> Any:
    # Forked from a server that has imported everything and computed nothing: imports take seconds.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["components.trainer.run_fn", "tests.components.trainer.transformed"])
    return context


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kill")
    write_tiny_checkpoint(folder / "checkpoint", num_layers=1)
    return write_splits(folder)


def _train(context: Any, folder: Path, kill_at: int = 0, *, before: bool = True) -> int:
    process = context.Process(target=run, args=(folder, folder / "checkpoint", TRAINING, kill_at, before))
    process.start()
    process.join(120)
    assert process.exitcode is not None
    return int(process.exitcode)


def _result(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    summary = json.loads((folder / "model_run" / "training_summary.json").read_text())
    return load_file(folder / "model" / "Format-Serving" / "model.safetensors"), summary


def test_a_run_killed_around_the_changes_of_its_files_ends_as_an_uninterrupted_one(
    context: Any, template: Path, tmp_path: Path
):
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    for folder in (straight, killed):
        shutil.copytree(template, folder)
    assert _train(context, straight) == 0
    kills = 0
    while (code := _train(context, killed, kills + 1, before=kills % 2 == 0)) == -signal.SIGKILL:
        kills += 1
    assert code == 0
    assert kills >= 5
    (weights, summary), (expected_weights, expected) = _result(killed), _result(straight)
    for name, tensor in expected_weights.items():
        np.testing.assert_allclose(weights[name], tensor, atol=1e-6, rtol=0, err_msg=name)
    for curve in ("loss_curve", "validation_curve"):
        losses, expected_losses = ([(p["step"], p["loss"]) for p in s[curve]] for s in (summary, expected))
        np.testing.assert_allclose(losses, expected_losses, rtol=1e-6, err_msg=curve)
    assert summary["final_loss"] == pytest.approx(expected["final_loss"], rel=1e-6)
    assert summary["stop"] == expected["stop"]
    assert summary["stop"]["reason"] == "early_stopping"
    assert summary["stop"]["best_step"] < summary["stop"]["step"] < summary["stop"]["planned_steps"]
    assert not list((killed / "state").iterdir())
    assert summary["resumed_at"]
