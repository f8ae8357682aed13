"""LocalBackend: a package, its engine and the gateway's view of it, all in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from models.contract.metrics import MetricsObserver
from models.contract.sampling_params import SamplingParams
from monitoring.metrics_registry import MetricsRegistry
from monitoring.prometheus_observer import PrometheusObserver
from serving.engine.engine_config import EngineConfig
from serving.engine.llm_engine import LLMEngine
from serving.engine_server.async_engine import AsyncLLMEngine
from serving.gateway.served_model import ServedModel
from serving.runners.local_runner import LocalRunner

_WARMUP_TOKENS = 6
"""Enough for a prefill, a decode of several steps and one of a single step."""


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """What `load` made of a package.

    Args:
        runner: calls the model.
        engine: not yet started.
        model: for the gateway.
    """

    runner: LocalRunner
    engine: AsyncLLMEngine
    model: ServedModel

    @classmethod
    def load(cls, package: Path, registry: MetricsRegistry) -> Self:
        """Load a package; takes seconds, so keep it off the event loop.

        Args:
            package: version directory.
            registry: where the engine's metrics go.

        Raises:
            PackageError: the package cannot be loaded.
        """
        runner = LocalRunner(package)
        manifest = runner.manifest
        config = EngineConfig.from_manifest(manifest)
        _warm_up(runner, config)
        observer = PrometheusObserver(registry, manifest.model)
        engine = LLMEngine(runner, config, runner.vocab, manifest.eos_ids, time.monotonic, observer)
        model = ServedModel.from_manifest(manifest, config, runner.vocab)
        return cls(runner, AsyncLLMEngine(engine, runner), model)


def _warm_up(runner: LocalRunner, config: EngineConfig) -> None:
    """Run each kind of step once: TensorFlow builds its executors at the first call, not at load."""
    engine = LLMEngine(runner, config, runner.vocab, (), time.monotonic, MetricsObserver())
    engine.generate(
        [[0]], SamplingParams(max_tokens=min(_WARMUP_TOKENS, config.max_length - 1), temperature=0)
    )
    runner.reset()
