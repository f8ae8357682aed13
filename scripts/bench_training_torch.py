"""One side of `bench_training.py`: transformers' Trainer on PyTorch. Run by it, with a job file.

    python scripts/bench_training_torch.py JOB

Needs torch, transformers and accelerate, and peft for LoRA; nothing of this project.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments

IGNORED = -100


class StepClock(TrainerCallback):
    """Notes the time and the processor's time at each step's end, and its loss."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, float]] = []
        self.losses: list[float] = []

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.ends.append((time.monotonic(), time.process_time()))

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.ends.append((time.monotonic(), time.process_time()))

    def on_log(self, *_: Any, logs: dict[str, float] | None = None, **__: Any) -> None:
        if logs and "loss" in logs:
            self.losses.append(logs["loss"])


class Rows(torch.utils.data.Dataset):
    """Packed rows; positions that start anew tell transformers where documents begin."""

    def __init__(self, path: str) -> None:
        with np.load(path) as arrays:
            self.ids = arrays["ids"].astype(np.int64)
            self.positions = arrays["positions"].astype(np.int64)
            # transformers shifts labels itself: the label of position t stands at t + 1.
            learned = np.where(arrays["weights"] > 0, arrays["labels"], IGNORED)
            self.labels = np.pad(learned, ((0, 0), (1, 0)), constant_values=IGNORED)[:, :-1].astype(np.int64)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = {"input_ids": self.ids, "position_ids": self.positions, "labels": self.labels}
        return {name: torch.from_numpy(array[index]) for name, array in row.items()}


class InOrder(Trainer):
    """Takes the rows as they come, as the other side does."""

    def _get_train_sampler(self, *_: Any) -> torch.utils.data.Sampler:
        return torch.utils.data.SequentialSampler(self.train_dataset)


def build(job: dict[str, Any]) -> torch.nn.Module:
    model = AutoModelForCausalLM.from_pretrained(job["checkpoint"], dtype=torch.float32)
    model.config.use_cache = False
    if job["training"]["method"] == "full":
        return model
    from peft import LoraConfig, get_peft_model

    return get_peft_model(
        model, LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    )


def arguments(job: dict[str, Any], folder: str) -> TrainingArguments:
    training = job["training"]
    steps = training["tokens"] // (training["batch_size"] * training["sequence_length"])
    return TrainingArguments(
        output_dir=folder,
        use_cpu=True,
        max_steps=steps,
        per_device_train_batch_size=training["batch_size"],
        learning_rate=1e-4 if training["method"] == "full" else 1e-3,
        warmup_steps=int(0.1 * steps),
        lr_scheduler_type="cosine",
        weight_decay=0.01,
        adam_beta1=0.9,
        adam_beta2=0.95,
        max_grad_norm=1.0,
        optim="adamw_torch",
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    torch.set_num_threads(job["threads"])
    clock = StepClock()
    with tempfile.TemporaryDirectory() as folder:
        trainer = InOrder(
            build(job), arguments(job, folder), train_dataset=Rows(job["rows"]), callbacks=[clock]
        )
        trainer.train()
    steps = np.diff(clock.ends, axis=0).round(4)
    found = {
        "step_seconds": steps[:, 0].tolist(),
        "cpu_seconds": steps[:, 1].tolist(),
        "losses": [round(loss, 5) for loss in clock.losses],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
