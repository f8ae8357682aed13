from __future__ import annotations

import inspect

import pytest

from models.contract.runner_observer import RunnerObserver
from monitoring.metrics_registry import MetricsRegistry
from monitoring.prometheus_runner_observer import PrometheusRunnerObserver


@pytest.fixture
def registry() -> MetricsRegistry:
    return MetricsRegistry()


@pytest.fixture
def observer(registry: MetricsRegistry) -> PrometheusRunnerObserver:
    return PrometheusRunnerObserver(registry, "mill")


def value(registry: MetricsRegistry, name: str, **labels: str) -> float | None:
    return registry.collectors.get_sample_value(f"tokenmill_{name}", {"model_name": "mill", **labels})


def test_it_observes_everything_a_runner_reports():
    for name, method in inspect.getmembers(RunnerObserver, inspect.isfunction):
        assert inspect.signature(getattr(PrometheusRunnerObserver, name)) == inspect.signature(method), name


def test_warm_buckets_and_compilations(registry: MetricsRegistry, observer: PrometheusRunnerObserver):
    observer.buckets(0, 3)
    observer.compiled(2.5)
    observer.buckets(1, 3)
    assert (value(registry, "xla_buckets_warm"), value(registry, "xla_buckets")) == (1, 3)
    assert value(registry, "xla_compile_seconds_count") == 1
    assert value(registry, "xla_compile_seconds_sum") == 2.5


def test_calls_and_executors(registry: MetricsRegistry, observer: PrometheusRunnerObserver):
    observer.executor_built("decode")
    for compiled in (True, False, True):
        observer.decode_call(compiled=compiled)
    assert value(registry, "session_executors_total") == 1
    assert value(registry, "decode_calls_total", compiled="true") == 2
    assert value(registry, "decode_calls_total", compiled="false") == 1
