from __future__ import annotations

import inspect

import pytest
from prometheus_client.parser import text_string_to_metric_families

from models.contract.metrics import MetricsObserver
from monitoring.metrics_registry import MetricsRegistry
from monitoring.prometheus_observer import PrometheusObserver


@pytest.fixture
def registry() -> MetricsRegistry:
    return MetricsRegistry()


@pytest.fixture
def observer(registry) -> PrometheusObserver:
    return PrometheusObserver(registry, "mill")


def value(registry: MetricsRegistry, name: str, **labels: str) -> float | None:
    return registry.collectors.get_sample_value(f"tokenmill_{name}", {"model_name": "mill", **labels})


def test_it_observes_everything_the_engine_reports():
    for name, method in inspect.getmembers(MetricsObserver, inspect.isfunction):
        if not name.startswith("_"):
            ours = inspect.signature(getattr(PrometheusObserver, name))
            assert list(ours.parameters) == list(inspect.signature(method).parameters), name


def test_a_request_from_queue_to_end(registry, observer):
    observer.request_queued(7)
    observer.first_token(0.3, 0.1)
    observer.tokens_generated(4, 0.2)
    observer.request_finished("length", 5, 1.2)
    assert value(registry, "prompt_tokens_total") == 7
    assert value(registry, "generation_tokens_total") == 5
    assert value(registry, "time_to_first_token_seconds_sum") == pytest.approx(0.3)
    assert value(registry, "request_queue_time_seconds_sum") == pytest.approx(0.1)
    assert value(registry, "inter_token_latency_seconds_count") == 1
    assert value(registry, "e2e_request_latency_seconds_sum") == pytest.approx(1.2)
    assert value(registry, "request_success_total", finished_reason="length") == 1
    assert value(registry, "request_prompt_tokens_sum") == 7
    assert value(registry, "request_generation_tokens_sum") == 5


def test_an_abort_is_counted_and_does_not_distort_latency(registry, observer):
    observer.request_finished("abort", 3, 0.01)
    assert value(registry, "request_success_total", finished_reason="abort") == 1
    assert value(registry, "e2e_request_latency_seconds_count") == 0


def test_steps_cache_and_preemptions(registry, observer):
    observer.step("prefill", 2, 100, 0.5)
    observer.step("decode", 3, 12, 0.1)
    observer.prefix_cache(100, 64)
    observer.preempted()
    assert value(registry, "step_duration_seconds_sum", kind="prefill") == pytest.approx(0.5)
    assert value(registry, "step_tokens_sum", kind="decode") == 12
    assert value(registry, "step_rows_sum", kind="decode") == 3
    assert value(registry, "prefix_cache_queries_total") == 100
    assert value(registry, "prefix_cache_hits_total") == 64
    assert value(registry, "num_preemptions_total") == 1


def test_guesses_and_how_many_were_right(registry, observer):
    observer.guessed(8, 3)
    observer.guessed(4, 4)
    assert value(registry, "spec_decode_num_draft_tokens_total") == 12
    assert value(registry, "spec_decode_num_accepted_tokens_total") == 7


def test_gauges_follow_the_engine(registry, observer):
    observer.gauges(running=3, waiting=2, used_blocks=25, total_blocks=100)
    assert value(registry, "num_requests_running") == 3
    assert value(registry, "num_requests_waiting") == 2
    assert value(registry, "kv_cache_usage_perc") == 0.25
    assert (value(registry, "kv_blocks_used"), value(registry, "kv_blocks_total")) == (25, 100)
    observer.gauges(running=0, waiting=0, used_blocks=0, total_blocks=0)
    assert value(registry, "kv_cache_usage_perc") == 0


def test_series_exist_from_the_start_under_names_that_dashboards_know(registry, observer):
    text, content_type = registry.render()
    assert content_type.startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    for name in (
        "num_requests_running",
        "num_requests_waiting",
        "kv_cache_usage_perc",
        "prompt_tokens",
        "generation_tokens",
        "num_preemptions",
        "prefix_cache_queries",
        "prefix_cache_hits",
        "request_success",
        "time_to_first_token_seconds",
        "inter_token_latency_seconds",
        "e2e_request_latency_seconds",
        "request_queue_time_seconds",
        "request_prompt_tokens",
        "request_generation_tokens",
    ):
        samples = families[f"tokenmill_{name}"].samples
        assert {sample.labels["model_name"] for sample in samples} == {"mill"}, name
    reasons = {sample.labels["finished_reason"] for sample in families["tokenmill_request_success"].samples}
    assert reasons == {"stop", "length", "abort", "error"}


def test_two_registries_do_not_meet(observer):
    other = MetricsRegistry()
    PrometheusObserver(other, "mill").preempted()
    assert value(observer.registry, "num_preemptions_total") == 0
    assert value(other, "num_preemptions_total") == 1
