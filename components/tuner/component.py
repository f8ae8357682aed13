"""Factory of the Tuner."""

from __future__ import annotations

from pathlib import Path

from tfx.components.tuner.component import Tuner
from tfx.proto import trainer_pb2
from tfx.types import BaseChannel

from components.trainer.component import start_options
from components.trainer.training_config import TrainingConfig
from components.tuner.tuning_config import TuningConfig

# A string, not an import: a pipeline is compiled without loading the network.
TUNER_FN = "components.tuner.tuner_fn.tuner_fn"


def tuner(
    config: TuningConfig,
    training: TrainingConfig,
    checkpoint: Path | None,
    examples: BaseChannel,
    transform_graph: BaseChannel | None = None,
    schema: BaseChannel | None = None,
    base_model: BaseChannel | None = None,
    *,
    state_directory: Path,
) -> Tuner:
    """TFX's Tuner, searching with `tuner_fn`.

    Output `best_hyperparameters` is what the Trainer takes as `hyperparameters`; `tuner_results` holds
    every trial with its validation loss.

    Args:
        config: the search.
        training: the configuration that trials differ from.
        checkpoint: Hugging Face directory to start from; None if it is all in `base_model`.
        examples: Transform's output.
        transform_graph: Transform's graph, for lineage.
        schema: for lineage.
        base_model: WarmStart's or InitialModel's output, to start from instead of the checkpoint.
        state_directory: where interrupted searches leave their state.

    Raises:
        CheckpointError: the checkpoint does not exist or holds no weights.
    """
    options = {
        "tuning": config.model_dump(mode="json"),
        "training": training.model_dump(mode="json"),
        **({} if checkpoint is None else start_options(checkpoint)),
        "state_directory": str(state_directory.absolute()),
    }
    return Tuner(
        tuner_fn=TUNER_FN,
        examples=examples,
        transform_graph=transform_graph,
        schema=schema,
        base_model=base_model,
        train_args=trainer_pb2.TrainArgs(splits=["train"]),
        eval_args=trainer_pb2.EvalArgs(splits=["eval"]),
        custom_config=options,
    )
