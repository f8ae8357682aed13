"""Transformed examples as Transform writes them, and the arguments TFX calls run_fn and tuner_fn with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tfx.components.trainer.fn_args_utils import FnArgs

from components.baseline.lookup import checkpoint_fingerprint
from components.trainer.training_config import TrainingConfig
from tests.tiny import TINY

END = 0


def some_documents(count: int = 12, seed: int = 0, longest: int = 30) -> list[np.ndarray]:
    """Counting upwards from anywhere: a text that can be learned."""
    random = np.random.default_rng(seed)
    starts = random.integers(3, TINY.vocab_size - longest, count)
    return [np.arange(start, start + random.integers(5, longest), dtype=np.int32) for start in starts]


def write_examples(folder: Path, documents: list[np.ndarray]) -> str:
    """One gzipped TFRecord file of a split; returns the pattern that finds it."""
    import tensorflow as tf

    def feature(values: list[Any]) -> tf.train.Feature:
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    folder.mkdir(parents=True)
    with tf.io.TFRecordWriter(str(folder / "examples-0.gz"), options="GZIP") as writer:
        for number, ids in enumerate(documents):
            features = {"ids": ids.tolist(), "source": [b"s"], "path": [f"{number:03d}".encode()]}
            example = {name: feature(values) for name, values in features.items()}
            writer.write(tf.train.Example(features=tf.train.Features(feature=example)).SerializeToString())
    return str(folder / "*")


def fn_args(folder: Path, checkpoint: Path, training: TrainingConfig, **options: Any) -> FnArgs:
    """Arguments for one execution, whose outputs go below `folder`.

    Args:
        folder: has the splits in `train` and `eval`.
        checkpoint: to start from.
        training: how to train.
        options: more of `custom_config`.
    """
    return FnArgs(
        train_files=[str(folder / "train" / "*")],
        eval_files=[str(folder / "eval" / "*")],
        serving_model_dir=str(folder / "model" / "Format-Serving"),
        model_run_dir=str(folder / "model_run"),
        custom_config={
            "training": training.model_dump(mode="json"),
            "checkpoint": str(checkpoint),
            "checkpoint_fingerprint": checkpoint_fingerprint(checkpoint),
            "state_directory": str(folder / "state"),
            **options,
        },
    )


def write_splits(folder: Path) -> Path:
    """Train and eval splits below a folder."""
    write_examples(folder / "train", some_documents(12))
    write_examples(folder / "eval", some_documents(6, seed=1))
    return folder
