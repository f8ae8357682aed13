"""One side of `bench_training.py`: this project's Trainer. Run by it, with a job file.

    python scripts/bench_training_tokenmill.py JOB [--pack]

With `--pack`, the rows of the job are packed and written for both sides, and nothing is trained.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from components.trainer.run_fn import attach_adapters, train
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData, document_end
from models.checkpoint import load_checkpoint
from preprocessing.tokenizers import load_tokenizer

FILES = 60


class StepClock(keras.callbacks.Callback):
    """Notes the time and the processor's time at each step's end."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[tuple[float, float]] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.ends.append((time.monotonic(), time.process_time()))

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.ends.append((time.monotonic(), time.process_time()))


def training_data(job: dict[str, Any], config: TrainingConfig) -> TrainingData:
    """Standard library modules, as documents."""
    tokenizer = load_tokenizer(Path(job["checkpoint"]))
    files = sorted(Path(job["corpus"]).glob("*.py"))[:FILES]
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
    documents = [np.array(ids, np.int32) for ids in tokenizer.encode_batch(texts)]
    return TrainingData(documents, document_end(tokenizer.special_ids, tokenizer.eos_ids, None))


def write_rows(job: dict[str, Any], config: TrainingConfig) -> None:
    """Packed rows [N, T] as arrays; what a document's rows share with the other side."""
    count = config.steps * config.batch_size
    rows = [row for row, _ in zip(training_data(job, config).rows(config), range(count), strict=False)]
    names = ("ids", "positions", "segment_ids", "labels", "weights")
    np.savez(job["rows"], **{name: np.stack([getattr(row, name) for row in rows]) for name in names})


def measure(job: dict[str, Any], config: TrainingConfig) -> dict[str, Any]:
    """Train and report each step's seconds and loss."""
    tf.config.threading.set_intra_op_parallelism_threads(job["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(job["threads"])
    data = training_data(job, config)
    decoder = load_checkpoint(Path(job["checkpoint"]))
    clock = StepClock()
    with tempfile.TemporaryDirectory() as folder:
        adapters = attach_adapters(decoder, config)
        history = train(decoder, data, config, Path(folder), callbacks=[clock], adapters=adapters)
    steps = np.diff(clock.ends, axis=0).round(4)
    return {
        "step_seconds": steps[:, 0].tolist(),
        "cpu_seconds": steps[:, 1].tolist(),
        "losses": [round(step.loss, 5) for step in history.steps],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    config = TrainingConfig.model_validate(job["training"])
    if "--pack" in sys.argv:
        write_rows(job, config)
        print("{}")
    else:
        print(json.dumps(measure(job, config)))


if __name__ == "__main__":
    main()
