"""KerasHub's own `generate`, compiled, on the checkpoint's weights."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from serving.benchmarks.engines.timed_answers import TimedAnswers

_CAUSAL_MODELS = {
    keras_hub.models.GPT2Backbone: keras_hub.models.GPT2CausalLM,
    keras_hub.models.Llama3Backbone: keras_hub.models.Llama3CausalLM,
}


class KerasHubEngine:
    """`generate` runs prompt and answer in one compiled call and does not stream.

    The decode time is that of a whole call less that of one which makes a single id at the same
    padded length; the first id's time is that of a call which makes only that.

    Args:
        job: "checkpoint" and "threads".
    """

    def __init__(self, job: dict[str, Any]) -> None:
        tf.config.threading.set_intra_op_parallelism_threads(job["threads"])
        backbone = keras_hub.models.Backbone.from_preset(job["checkpoint"], **_epsilon(job["checkpoint"]))
        causal = _CAUSAL_MODELS.get(type(backbone))
        if causal is None:
            raise ValueError(f"no generating model for a {type(backbone).__name__}")
        self._model = causal(backbone=backbone, preprocessor=None)
        self._model.compile(sampler="greedy", jit_compile=True)

    def describe(self) -> dict[str, Any]:
        """Versions."""
        return {
            "version": f"KerasHub {keras_hub.__version__}, Keras {keras.__version__}, TF {tf.__version__}"
        }

    def run(self, prompts: list[list[int]], tokens: int) -> TimedAnswers:
        """See `TimedAnswers`."""
        length = len(prompts[0])
        first_seconds, _ = self._timed(prompts, length + 1)
        whole_seconds, ids = self._timed(prompts, length + tokens)
        almost = [[*prompt, *[0] * (tokens - 1)] for prompt in prompts]
        one_seconds, _ = self._timed(almost, length + tokens)
        return TimedAnswers(first_seconds, whole_seconds - one_seconds, ids[:, length:].tolist())

    def _timed(self, prompts: list[list[int]], length: int) -> tuple[float, np.ndarray]:
        """Seconds of a call that fills rows up to `length`, and its ids [B, length]."""
        known = len(prompts[0])
        ids = np.zeros((len(prompts), length), np.int32)
        ids[:, :known] = prompts
        mask = np.zeros((len(prompts), length), np.int32)
        mask[:, :known] = 1
        started = time.perf_counter()
        made = self._model.generate({"token_ids": ids, "padding_mask": mask}, stop_token_ids=None)
        return time.perf_counter() - started, np.asarray(made["token_ids"])


def _epsilon(checkpoint: str) -> dict[str, float]:
    """The norm's epsilon of a Llama, which KerasHub's conversion leaves at its own default."""
    config = json.loads((Path(checkpoint) / "config.json").read_text())
    return {"layer_norm_epsilon": config["rms_norm_eps"]} if "rms_norm_eps" in config else {}


def load(job: dict[str, Any]) -> KerasHubEngine:
    """The engine of a job."""
    return KerasHubEngine(job)
