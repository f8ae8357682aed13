"""transformers on PyTorch, eager, with its key-value cache."""

from __future__ import annotations

import time
from typing import Any

import torch
import transformers

from serving.benchmarks.engines.timed_answers import TimedAnswers


class PytorchEngine:
    """The bare loop: forward with the cache, argmax; `generate` would add its own work to each step.

    Args:
        job: "checkpoint" and "threads".
    """

    def __init__(self, job: dict[str, Any]) -> None:
        torch.set_num_threads(job["threads"])
        self._model = transformers.AutoModelForCausalLM.from_pretrained(
            job["checkpoint"], dtype=torch.float32
        ).eval()

    def describe(self) -> dict[str, Any]:
        """Versions."""
        return {"version": f"transformers {transformers.__version__}, torch {torch.__version__}"}

    @torch.inference_mode()
    def run(self, prompts: list[list[int]], tokens: int) -> TimedAnswers:
        """See `TimedAnswers`."""
        ids = torch.tensor(prompts)
        started = time.perf_counter()
        output = self._model(ids, use_cache=True, logits_to_keep=1)
        made = [output.logits[:, -1].argmax(-1, keepdim=True)]
        first = time.perf_counter()
        for _ in range(tokens - 1):
            output = self._model(made[-1], past_key_values=output.past_key_values, use_cache=True)
            made.append(output.logits[:, -1].argmax(-1, keepdim=True))
        ended = time.perf_counter()
        return TimedAnswers(first - started, ended - first, torch.cat(made, dim=1).tolist())


def load(job: dict[str, Any]) -> PytorchEngine:
    """The engine of a job."""
    return PytorchEngine(job)
