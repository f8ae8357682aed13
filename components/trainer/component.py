"""Factory of the Trainer."""

from __future__ import annotations

from pathlib import Path

from tfx.components.trainer.component import Trainer
from tfx.proto import trainer_pb2
from tfx.types import BaseChannel

from components.baseline.lookup import checkpoint_fingerprint
from components.trainer.training_config import TrainingConfig

# A string, not an import: a pipeline is compiled without loading the network.
RUN_FN = "components.trainer.run_fn.run_fn"


def trainer(
    config: TrainingConfig,
    checkpoint: Path | None,
    examples: BaseChannel,
    transform_graph: BaseChannel | None = None,
    schema: BaseChannel | None = None,
    *,
    base_model: BaseChannel | None = None,
    hyperparameters: BaseChannel | None = None,
    state_directory: Path,
) -> Trainer:
    """TFX's Trainer, fine-tuning a checkpoint with `run_fn`.

    Output `model` holds a Hugging Face checkpoint directory as `Format-Serving`; `model_run` holds
    TensorBoard's files and `training_summary.json`.

    Args:
        config: how to train.
        checkpoint: Hugging Face directory to start from; None if it is all in `base_model`.
        examples: Transform's output.
        transform_graph: Transform's graph, for lineage.
        schema: for lineage.
        base_model: WarmStart's or InitialModel's output, to start from instead of the checkpoint.
        hyperparameters: a Tuner's output, whose values go before the configured ones.
        state_directory: where interrupted runs leave their state; outside of the pipeline's outputs,
            which are new in each execution.

    Raises:
        CheckpointError: the checkpoint does not exist or holds no weights.
    """
    options = {
        "training": config.model_dump(mode="json"),
        **({} if checkpoint is None else start_options(checkpoint)),
        "state_directory": str(state_directory.absolute()),
    }
    return Trainer(
        run_fn=RUN_FN,
        examples=examples,
        transform_graph=transform_graph,
        schema=schema,
        base_model=base_model,
        hyperparameters=hyperparameters,
        train_args=trainer_pb2.TrainArgs(splits=["train"], num_steps=config.steps),
        eval_args=trainer_pb2.EvalArgs(splits=["eval"]),
        custom_config=options,
    )


def start_options(checkpoint: Path) -> dict[str, str]:
    """What `run_fn` and `tuner_fn` must know of a checkpoint; its fingerprint makes them run again.

    Raises:
        CheckpointError: it does not exist or holds no weights.
    """
    return {
        "checkpoint": str(checkpoint.absolute()),
        "checkpoint_fingerprint": checkpoint_fingerprint(checkpoint),
    }
