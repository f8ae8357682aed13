"""Tuner and Trainer run by TFX on transformed examples: the best values are trained with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tfx import v1 as tfx
from tfx.components.example_gen.import_example_gen.component import ImportExampleGen
from tfx.proto import example_gen_pb2

from components.trainer.component import trainer
from components.trainer.hyperparameters import with_values
from components.trainer.training_config import TrainingConfig
from components.tuner.component import tuner
from components.tuner.tuner_fn import trial_config
from components.tuner.tuning_config import TuningConfig
from tests.components.trainer.transformed import write_splits
from tests.tiny import write_tiny_checkpoint

TRAINING = TrainingConfig(
    tokens=4 * 64,
    sequence_length=32,
    batch_size=2,
    learning_rate=1e-4,
    validation={"every_steps": 1, "tokens": 64},
    method="lora",
)
TUNING = TuningConfig(
    trials=2,
    tokens=3 * 64,
    parameters={"learning_rate": {"choices": [1e-4, 3e-2]}, "lora.rank": {"choices": [2]}},
)


def _run(folder: Path, checkpoint: Path) -> None:
    splits = [example_gen_pb2.Input.Split(name=name, pattern=f"{name}/*") for name in ("train", "eval")]
    gen = ImportExampleGen(input_base=str(folder), input_config=example_gen_pb2.Input(splits=splits))
    options = {"examples": gen.outputs["examples"], "state_directory": folder / "state"}
    search = tuner(TUNING, TRAINING, checkpoint, **options)
    train = trainer(TRAINING, checkpoint, **options, hyperparameters=search.outputs["best_hyperparameters"])
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="tune",
        pipeline_root=str(folder / "artifacts"),
        components=[gen, search, train],
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            str(folder / "metadata.sqlite")
        ),
        beam_pipeline_args=["--direct_running_mode=in_memory", "--direct_num_workers=1"],
    )
    tfx.orchestration.LocalDagRunner().run(pipeline)


def test_the_best_hyperparameters_flow_into_the_trainer(tmp_path: Path):
    write_splits(tmp_path)
    _run(tmp_path, write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1))
    (results,) = tmp_path.glob("artifacts/Tuner/tuner_results/*/tuner_results.json")
    trials = json.loads(results.read_text())
    assert {trial["learning_rate"] for trial in trials} == {1e-4, 3e-2}
    best = min(trials, key=lambda trial: trial["score"])
    assert best["learning_rate"] == 3e-2
    (summary,) = tmp_path.glob("artifacts/Trainer/model_run/*/training_summary.json")
    told = json.loads(summary.read_text())
    assert told["hyperparameters"] == {"learning_rate": 3e-2, "lora.rank": 2}
    assert max(point["learning_rate"] for point in told["loss_curve"]) == pytest.approx(3e-2)
    (adapter,) = tmp_path.glob("artifacts/Trainer/model/*/adapter/adapter_config.json")
    assert json.loads(adapter.read_text())["r"] == 2
    assert [path.name[:7] for path in (tmp_path / "state").iterdir()] == ["tuning-"]


def test_trials_of_any_length_are_validated_with_rows_of_one():
    lengths = TUNING.model_copy(update={"parameters": {"sequence_length": {"choices": [16, 64]}}})
    base = trial_config(TRAINING, lengths)
    trials = [with_values(base, {"sequence_length": length}) for length in (16, 64)]
    assert [trial.sequence_length for trial in trials] == [16, 64]
    assert [trial.validation.sequence_length for trial in trials] == [32, 32]
    wider = TRAINING.validation.model_copy(update={"sequence_length": 48})
    chosen = trial_config(TRAINING.model_copy(update={"validation": wider}), lengths)
    assert chosen.validation.sequence_length == 48


def test_a_trial_is_validated_at_its_ends_or_for_early_stopping():
    trial = trial_config(TRAINING, TUNING)
    assert (trial.tokens, trial.steps) == (192, 3)
    assert trial.validation.every_steps >= trial.steps
    stopping = TrainingConfig(early_stopping={"patience": 1}, validation={"every_steps": 2})
    assert trial_config(stopping, TUNING).validation.every_steps == 2
    assert (
        trial_config(
            TRAINING.model_copy(update={"tokens": 64}), TUNING.model_copy(update={"tokens": None})
        ).tokens
        == 64
    )
