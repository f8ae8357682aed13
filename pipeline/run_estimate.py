"""RunEstimate: time, memory and disk a run will take, told before it starts."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass

import numpy as np
import psutil

from models.decoder_config import DecoderConfig
from pipeline.config import RunConfig

OVERHEAD_SECONDS = 90.0
"""Imports, Beam, statistics, Transform and metadata: measured on 2 cores, whatever the model."""

COPY_BYTES_PER_SECOND = 60e6
"""Weights through saving, exporting, loading, hashing and pushing, all passes together."""

TRAINING_EFFICIENCY, SCORING_EFFICIENCY = 0.55, 0.55
"""Share of the matrix product's speed that a whole training step or scoring pass reaches, measured."""

_PRODUCTS, _PRODUCT_SIZE = 64, 64

_HELD = {"full": 5, "lora": 2}
"""Times the weights that training holds: with gradients, two moments and a copy; or without the first two."""

FRAMEWORK_BYTES = 2_200_000_000
"""Resident size of TensorFlow, TFX and Beam, with what their allocators keep."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run without any cached component will take.

    Args:
        seconds: wall time.
        memory_bytes: most resident memory.
        disk_bytes: most space below the working and push directories.
        parameters: of the model.
        gigaflops: speed of this machine's matrix product, measured.
    """

    seconds: float
    memory_bytes: int
    disk_bytes: int
    parameters: int
    gigaflops: float

    @classmethod
    def make(cls, config: RunConfig, decoder: DecoderConfig, gigaflops: float) -> RunEstimate:
        """Estimate from the sizes and a measured speed (`measure_gigaflops`)."""
        parameters = decoder.num_parameters
        weights = 4 * parameters
        training, evaluation = config.training, config.evaluation
        scored = (
            evaluation.num_tokens
            * evaluation.context
            / min(evaluation.effective_stride, evaluation.context - 1)
        )
        train_flops = _training_flops(config, parameters)
        score_flops = 2 * 2 * parameters * scored
        seconds = (
            OVERHEAD_SECONDS
            + train_flops / (gigaflops * 1e9 * TRAINING_EFFICIENCY)
            + score_flops / (gigaflops * 1e9 * SCORING_EFFICIENCY)
            + 6 * weights / COPY_BYTES_PER_SECOND
        )
        rows = training.batch_size * training.sequence_length
        memory = (
            FRAMEWORK_BYTES
            + _HELD[training.method] * weights
            + rows * _activation_bytes(decoder, training.sequence_length)
        )
        return cls(seconds, memory, _copies_on_disk(config) * weights, parameters, gigaflops)

    def lines(self, config: RunConfig) -> list[str]:
        """For people; a shortage is said."""
        place = config.workdir if config.workdir.exists() else config.workdir.absolute().parent
        while not place.exists():
            place = place.parent
        free_disk, free_memory = shutil.disk_usage(place).free, psutil.virtual_memory().available
        lines = [
            f"{config.name}: {self.parameters / 1e6:.1f} M parameters, "
            f"{config.training.steps * config.training.tokens_per_step:,} training tokens, "
            f"{config.evaluation.num_tokens:,} evaluation tokens",
            f"about {_minutes(self.seconds)} here ({self.gigaflops:.0f} GFLOP/s), less if parts are cached; "
            f"{_gigabytes(self.memory_bytes)} memory of {_gigabytes(free_memory)} free, "
            f"{_gigabytes(self.disk_bytes)} disk of {_gigabytes(free_disk)} free",
        ]
        if self.memory_bytes > free_memory:
            lines.append("! This may not fit into memory: lower training.batch_size or sequence_length.")
        if self.disk_bytes > free_disk:
            lines.append(f"! This may not fit on the disk of {config.workdir}: free some space first.")
        return lines


def _copies_on_disk(config: RunConfig) -> int:
    """Times the weights: checkpoint, package, pushed copy; saved states and best weights, each thrice."""
    if config.training.method == "lora":
        return 3
    first = 0 if config.model.from_scratch is None else 1
    return 9 + first + (3 if config.training.early_stopping else 0)


def _training_flops(config: RunConfig, parameters: int) -> float:
    """Of training, its validations and the trials before it; frozen weights need no gradients."""
    training, tuning = config.training, config.tuning
    per_token = (6 if training.method == "full" else 4) * parameters
    validations = (
        2 + training.steps // training.validation.every_steps if training.validation.every_steps else 0
    )
    per_run = 2 * parameters * training.validation.tokens * validations
    tokens = training.steps * training.tokens_per_step
    trials = tuning.trials * (per_token * (tuning.tokens or tokens) + per_run) if tuning else 0
    return per_token * tokens + per_run + trials


def measure_gigaflops(seconds: float = 0.3) -> float:
    """Speed of float32 matrix products on all cores of this process, in 10⁹ operations per second.

    The products are small enough to run on one core, and the best of many counts: a product on all
    cores would wait for whichever core another process keeps busy.
    """
    matrices = np.ones((_PRODUCTS, _PRODUCT_SIZE, _PRODUCT_SIZE), np.float32)
    result, best, start = np.empty_like(matrices), float("inf"), time.perf_counter()
    while time.perf_counter() - start < seconds:
        begun = time.perf_counter()
        np.matmul(matrices, matrices, out=result)
        best = min(best, time.perf_counter() - begun)
    return len(os.sched_getaffinity(0)) * _PRODUCTS * 2 * _PRODUCT_SIZE**3 / best / 1e9


def _activation_bytes(decoder: DecoderConfig, length: int) -> int:
    """Bytes kept per trained token for the backward pass: blocks, attention scores, logits."""
    block = 12 * decoder.hidden_size + 4 * decoder.intermediate_size + 3 * decoder.num_heads * length
    return 4 * (decoder.num_layers * block + 3 * decoder.vocab_size)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:.1f} GB"
