"""PrometheusRunnerObserver: a model runner's events as time series."""

from __future__ import annotations

from models.contract.runner_observer import RunnerObserver
from monitoring.metrics_registry import MetricsRegistry

COMPILE_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0)
"""Seconds of one compilation."""

_LABEL = ["model_name"]


class PrometheusRunnerObserver(RunnerObserver):
    """Counts a runner's events in a metrics registry; safe to call from any thread.

    After the warm-up `xla_compile_seconds_count` and `session_executors_total` stand still: a change
    means that requests wait for the compiler.

    Args:
        registry: where the metrics live.
        model_name: value of their label `model_name`.
    """

    def __init__(self, registry: MetricsRegistry, model_name: str) -> None:
        gauge, counter = registry.gauge, registry.counter
        self._warm = gauge("xla_buckets_warm", "XLA buckets that are compiled.", _LABEL).labels(model_name)
        self._total = gauge("xla_buckets", "XLA buckets of the package.", _LABEL).labels(model_name)
        self._compile = registry.histogram(
            "xla_compile_seconds", "One compilation with its first call.", COMPILE_BUCKETS, _LABEL
        ).labels(model_name)
        self._executors = counter(
            "session_executors", "First calls of a signature, for which an executor was built.", _LABEL
        ).labels(model_name)
        calls = counter("decode_calls", "Decode calls, by whether they ran compiled.", [*_LABEL, "compiled"])
        self._calls = {flag: calls.labels(model_name, str(flag).lower()) for flag in (True, False)}

    def buckets(self, warm: int, total: int) -> None:
        """So many of the package's XLA buckets are compiled."""
        self._warm.set(warm)
        self._total.set(total)

    def compiled(self, seconds: float) -> None:
        """A bucket was compiled."""
        self._compile.observe(seconds)

    def executor_built(self, signature: str) -> None:
        """A signature was called for the first time."""
        self._executors.inc()

    def decode_call(self, *, compiled: bool) -> None:
        """A decode call ran compiled or not."""
        self._calls[compiled].inc()
