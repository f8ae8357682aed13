"""PrometheusObserver: the engine's events as time series."""

from __future__ import annotations

from models.contract.metrics import MetricsObserver
from monitoring.metrics_registry import (
    E2E_BUCKETS,
    INTERVAL_BUCKETS,
    TOKEN_BUCKETS,
    TTFT_BUCKETS,
    MetricsRegistry,
)

_LABEL = ["model_name"]


class PrometheusObserver(MetricsObserver):
    """Counts the engine's events in a metrics registry; safe to call from any thread.

    Args:
        registry: where the metrics live.
        model_name: value of their label `model_name`.
    """

    def __init__(self, registry: MetricsRegistry, model_name: str) -> None:
        self.registry = registry
        self._make_gauges(model_name)
        self._make_counters(model_name)
        self._make_histograms(model_name)

    def _make_gauges(self, model: str) -> None:
        gauge = self.registry.gauge
        self._running = gauge("num_requests_running", "Requests that are generating.", _LABEL).labels(model)
        self._waiting = gauge("num_requests_waiting", "Requests in the waiting queue.", _LABEL).labels(model)
        self._kv_usage = gauge(
            "kv_cache_usage_perc", "Share of KV blocks in use, from 0 to 1.", _LABEL
        ).labels(model)
        self._kv_used = gauge("kv_blocks_used", "KV blocks in use.", _LABEL).labels(model)
        self._kv_total = gauge("kv_blocks_total", "KV blocks there are.", _LABEL).labels(model)

    def _make_counters(self, model: str) -> None:
        counter = self.registry.counter
        self._prompt_tokens = counter("prompt_tokens", "Prompt tokens queued.", _LABEL).labels(model)
        self._generation_tokens = counter("generation_tokens", "Tokens generated.", _LABEL).labels(model)
        self._preemptions = counter(
            "num_preemptions", "Requests that lost their blocks and were queued again.", _LABEL
        ).labels(model)
        self._drafted = counter("spec_decode_num_draft_tokens", "Tokens guessed ahead.", _LABEL).labels(model)
        self._accepted = counter(
            "spec_decode_num_accepted_tokens", "Tokens guessed ahead that were right.", _LABEL
        ).labels(model)
        self._cache_queries = counter(
            "prefix_cache_queries", "Prompt tokens looked up in the prefix cache.", _LABEL
        ).labels(model)
        self._cache_hits = counter(
            "prefix_cache_hits", "Prompt tokens found in the prefix cache.", _LABEL
        ).labels(model)
        finished = counter(
            "request_success", "Requests that ended, by reason.", ["model_name", "finished_reason"]
        )
        self._finished = {r: finished.labels(model, r) for r in ("stop", "length", "abort", "error")}

    def _make_histograms(self, model: str) -> None:
        histogram = self.registry.histogram
        self._ttft = histogram(
            "time_to_first_token_seconds", "From arrival to the first token.", TTFT_BUCKETS, _LABEL
        ).labels(model)
        self._queue_time = histogram(
            "request_queue_time_seconds", "From arrival to the first step.", TTFT_BUCKETS, _LABEL
        ).labels(model)
        self._interval = histogram(
            "inter_token_latency_seconds", "Between two outputs of a request.", INTERVAL_BUCKETS, _LABEL
        ).labels(model)
        self._e2e = histogram(
            "e2e_request_latency_seconds", "From arrival to the last token.", E2E_BUCKETS, _LABEL
        ).labels(model)
        self._request_prompt = histogram(
            "request_prompt_tokens", "Prompt tokens of a request.", TOKEN_BUCKETS, _LABEL
        ).labels(model)
        self._request_generation = histogram(
            "request_generation_tokens", "Generated tokens of a request.", TOKEN_BUCKETS, _LABEL
        ).labels(model)
        by_kind = ["model_name", "kind"]
        duration = histogram("step_duration_seconds", "One step of the model.", INTERVAL_BUCKETS, by_kind)
        tokens = histogram("step_tokens", "Tokens that one step computed.", TOKEN_BUCKETS, by_kind)
        rows = histogram("step_rows", "Requests that one step served.", TOKEN_BUCKETS, by_kind)
        self._steps = {
            kind: (duration.labels(model, kind), tokens.labels(model, kind), rows.labels(model, kind))
            for kind in ("prefill", "decode")
        }

    def request_queued(self, prompt_tokens: int) -> None:
        """A request entered the waiting queue."""
        self._prompt_tokens.inc(prompt_tokens)
        self._request_prompt.observe(prompt_tokens)

    def first_token(self, ttft: float, queue_time: float) -> None:
        """A request got its first token."""
        self._generation_tokens.inc()
        self._ttft.observe(ttft)
        self._queue_time.observe(queue_time)

    def tokens_generated(self, count: int, interval: float) -> None:
        """A running request got `count` more tokens at once, `interval` seconds after the last."""
        self._generation_tokens.inc(count)
        self._interval.observe(interval)

    def request_finished(self, reason: str, output_tokens: int, e2e: float) -> None:
        """A request ended; the latency histogram counts answers only, not aborts and failures."""
        self._finished[reason].inc()
        self._request_generation.observe(output_tokens)
        if reason in ("stop", "length"):
            self._e2e.observe(e2e)

    def step(self, kind: str, rows: int, tokens: int, duration: float) -> None:
        """The runner finished a step."""
        seconds, computed, served = self._steps[kind]
        seconds.observe(duration)
        computed.observe(tokens)
        served.observe(rows)

    def guessed(self, drafted: int, accepted: int) -> None:
        """A step checked guessed tokens."""
        self._drafted.inc(drafted)
        self._accepted.inc(accepted)

    def preempted(self) -> None:
        """A request was put back into the queue."""
        self._preemptions.inc()

    def prefix_cache(self, queried: int, hit: int) -> None:
        """A request looked up its prompt."""
        self._cache_queries.inc(queried)
        self._cache_hits.inc(hit)

    def gauges(self, running: int, waiting: int, used_blocks: int, total_blocks: int) -> None:
        """State after a step."""
        self._running.set(running)
        self._waiting.set(waiting)
        self._kv_used.set(used_blocks)
        self._kv_total.set(total_blocks)
        self._kv_usage.set(used_blocks / total_blocks if total_blocks else 0.0)
