"""LocalBackend: a package, its engine and the gateway's view of it, all in this process."""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from models.contract.errors import EngineError
from models.contract.manifest import Manifest
from models.contract.sampling_params import SamplingParams
from monitoring.metrics_registry import MetricsRegistry
from monitoring.prometheus_observer import PrometheusObserver
from monitoring.prometheus_runner_observer import PrometheusRunnerObserver
from serving.engine.engine_config import EngineConfig
from serving.engine.finish_reason import FinishReason
from serving.engine.llm_engine import LLMEngine
from serving.engine.null_steps import null_steps
from serving.engine_server.async_engine import AsyncLLMEngine
from serving.gateway.served_model import ServedModel
from serving.runners.local_runner import LocalRunner
from serving.runners.package_check import check_stateful

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
            PackageError: the package cannot be loaded, or has no KV memory.
        """
        manifest = Manifest.load(package)
        check_stateful(package, manifest)
        runner = LocalRunner(package, observer=PrometheusRunnerObserver(registry, manifest.model))
        config = EngineConfig.from_manifest(manifest)
        observer = PrometheusObserver(registry, manifest.model)
        engine = LLMEngine(runner, config, runner.vocab, manifest.eos_ids, time.monotonic, observer)
        model = ServedModel.from_manifest(manifest, config, runner.vocab)
        return cls(runner, AsyncLLMEngine(engine, runner), model)

    async def warm_up(self) -> None:
        """Run each kind of step once: TensorFlow optimises a signature's graph at its first call.

        It is a request like any other, so that requests of users take their turns beside it.

        Raises:
            EngineError: a step failed.
        """
        for step in null_steps(self.model.config.signatures):
            await self.engine.between_steps(partial(self.runner.execute, step))
        limit = self.model.config.max_length - 1
        params = SamplingParams(max_tokens=min(_WARMUP_TOKENS, limit), temperature=0, ignore_eos=True)
        async with aclosing(self.engine.generate("warm-up", (0,), params)) as outputs:
            async for output in outputs:
                if output.finish_reason is FinishReason.ERROR:
                    raise EngineError(f"the warm-up failed: {output.error}.")
