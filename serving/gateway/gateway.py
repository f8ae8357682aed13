"""Gateway: what the endpoints share."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from models.contract.errors import ModelNotFoundError, UnavailableError
from monitoring.metrics_registry import MetricsRegistry
from serving.gateway.admission import Admission
from serving.gateway.engine_client import EngineClient
from serving.gateway.gateway_config import GatewayConfig
from serving.gateway.http_metrics import HttpMetrics
from serving.gateway.lifecycle_state import LifecycleState
from serving.gateway.served_model import ServedModel
from serving.runners.warmup_progress import WarmupProgress


@dataclass(frozen=True, slots=True)
class Backend:
    """A started engine, its model and how far its compilation is."""

    engine: EngineClient
    model: ServedModel
    progress: Callable[[], WarmupProgress] = WarmupProgress


class Gateway:
    """State, limits and the backend; endpoints ask it, the server process drives it.

    Args:
        config: limits and times.
        registry: where metrics live.
    """

    def __init__(self, config: GatewayConfig | None = None, registry: MetricsRegistry | None = None) -> None:
        self.config = config or GatewayConfig()
        self.registry = registry or MetricsRegistry()
        self.metrics = HttpMetrics(self.registry)
        self.admission = Admission(self.config.max_in_flight, self.config.max_prompt_bytes)
        self.state = LifecycleState.STARTING
        self._backend: Backend | None = None

    def open(
        self,
        engine: EngineClient,
        model: ServedModel,
        progress: Callable[[], WarmupProgress] = WarmupProgress,
    ) -> None:
        """Serve `model` from a started engine; not ready until `warmed`.

        Args:
            engine: started.
            model: what it serves.
            progress: tells how many of its XLA buckets are compiled; readiness does not wait for them.
        """
        self._backend = Backend(engine, model, progress)
        self.state = LifecycleState.WARMING

    def warmed(self) -> None:
        """The first slow calls are over."""
        if self.state is LifecycleState.WARMING:
            self.state = LifecycleState.READY

    async def drain(self) -> None:
        """Refuse new requests; return once those in flight have ended."""
        self.state = LifecycleState.DRAINING
        await self.admission.idle()

    @property
    def models(self) -> list[ServedModel]:
        """The models that are served."""
        return [self._backend.model] if self._backend else []

    @property
    def progress(self) -> WarmupProgress:
        """How many XLA buckets of the model are compiled."""
        return self._backend.progress() if self._backend else WarmupProgress()

    @property
    def fault(self) -> str | None:
        """Why the process should be replaced: its engine crashed or stalled; None if neither."""
        if self._backend is None:
            return None
        health = self._backend.engine.health()
        if health.error is not None:
            return "crashed"
        return "stalled" if health.seconds_without_progress > self.config.stall_timeout else None

    @property
    def ready(self) -> bool:
        """Whether requests for tokens are served at full speed."""
        return self.state is LifecycleState.READY and self.fault is None

    def backend(self, name: str | None) -> Backend:
        """The backend that serves a model; None is the only one.

        Raises:
            UnavailableError: the server is starting or draining.
            ModelNotFoundError: no such model.
        """
        if self.state not in (LifecycleState.WARMING, LifecycleState.READY) or self._backend is None:
            remedy = {
                LifecycleState.STARTING: "Wait until `/readyz` answers 200.",
                LifecycleState.DRAINING: "Send the request to another server.",
            }.get(self.state)
            raise UnavailableError(f"The server is {self.state.value}.", remedy=remedy)
        if name is not None:
            self.model(name)
        return self._backend

    def model(self, name: str) -> ServedModel:
        """A served model by its name.

        Raises:
            ModelNotFoundError: no such model; the message names those there are.
        """
        by_name = {model.name: model for model in self.models}
        if name in by_name:
            return by_name[name]
        close = difflib.get_close_matches(name, by_name, n=1)
        guess = f"Did you mean `{close[0]}`? " if close else ""
        served = ", ".join(f"`{known}`" for known in by_name) or "none yet"
        raise ModelNotFoundError(
            f"model {name!r} is not served here.", field="model", remedy=f"{guess}Served: {served}."
        )
