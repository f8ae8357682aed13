"""tuner_fn: what TFX's Tuner calls, named to it by its dotted path."""

from __future__ import annotations

import gc
import hashlib
import tempfile
from pathlib import Path
from typing import Any

import keras
from tfx.components.tuner.component import TunerFnResult

from components.trainer.run_fn import (
    attach_adapters,
    documents_fingerprint,
    held_out_data,
    start_checkpoint,
    train,
    training_data,
)
from components.trainer.tensorboard_config import TensorBoardConfig
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData
from components.trainer.training_state import TrainingState
from components.tuner.training_tuner import TrainingTuner
from components.tuner.tuning_config import TuningConfig
from models.checkpoint import load_checkpoint


def tuner_fn(fn_args: Any) -> TunerFnResult:
    """A tuner whose trials train the checkpoint on the transformed examples.

    Args:
        fn_args: TFX's FnArgs. `custom_config` is made by `components.tuner.component.tuner`.

    Raises:
        DataError: there is nothing to train or to validate on.
        CheckpointError: the checkpoint or its tokenizer cannot be read.
    """
    options = fn_args.custom_config
    config = TuningConfig.model_validate(options["tuning"])
    training = trial_config(TrainingConfig.model_validate(options["training"]), config)
    checkpoint, fingerprint = start_checkpoint(fn_args)
    data = training_data(fn_args.train_files, checkpoint, training)
    held_out = held_out_data(fn_args.eval_files, checkpoint, training)
    assert held_out is not None
    documents = documents_fingerprint(data, held_out)
    states = Path(options["state_directory"])

    def loss_of(trial: TrainingConfig) -> float:
        state = TrainingState(states, trial, fingerprint, documents)
        return trial_loss(trial, checkpoint, data, held_out, state)

    decisive = [config.model_dump_json(), training.model_dump_json(), fingerprint, documents]
    project = "tuning-" + hashlib.sha256("\n".join(decisive).encode()).hexdigest()[:16]
    return TunerFnResult(TrainingTuner(config, training, states, project, loss_of), fit_kwargs={})


def trial_config(training: TrainingConfig, config: TuningConfig) -> TrainingConfig:
    """The training of a trial: its own length, validated at its ends or for early stopping only.

    Trials may train with rows of different lengths; they are validated with rows of one.
    """
    tokens = config.tokens or training.tokens
    validation: dict[str, Any] = {
        "sequence_length": training.validation.sequence_length or training.sequence_length
    }
    if training.early_stopping is None:
        validation["every_steps"] = tokens
    changes = {
        "tokens": tokens,
        "tensorboard": TensorBoardConfig(),
        "validation": training.validation.model_copy(update=validation),
    }
    return training.model_copy(update=changes)


def trial_loss(
    config: TrainingConfig, checkpoint: Path, data: TrainingData, held_out: TrainingData, state: TrainingState
) -> float:
    """Train from the checkpoint and return the validation loss of the weights that result.

    Raises:
        NotBlessedError: the loss became NaN or infinite.
    """
    decoder = load_checkpoint(checkpoint)
    with tempfile.TemporaryDirectory() as log_directory:
        history = train(
            decoder,
            data,
            config,
            Path(log_directory),
            state,
            adapters=attach_adapters(decoder, config),
            held_out=held_out,
        )
    state.delete()
    del decoder
    keras.backend.clear_session()
    gc.collect()
    losses = [record.loss for record in history.validations if record.step > 0]
    return min(losses) if config.early_stopping else losses[-1]
