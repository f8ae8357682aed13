"""HttpMetrics: what the gateway itself counts, beside the engine's own metrics."""

from __future__ import annotations

from monitoring.metrics_registry import E2E_BUCKETS, MetricsRegistry


class HttpMetrics:
    """Counts requests, refusals and clients that left.

    Routes are the patterns of the routing table, so that no client can make new time series.
    """

    def __init__(self, registry: MetricsRegistry) -> None:
        self._requests = registry.counter(
            "http_requests", "HTTP requests answered.", ["method", "route", "status"]
        )
        self._duration = registry.histogram(
            "http_request_duration_seconds", "From request line to last byte.", E2E_BUCKETS, ["route"]
        )
        self._open = registry.gauge("http_requests_in_flight", "HTTP requests being answered.")
        self._rejections = registry.counter(
            "admission_rejections", "Requests refused before any token, by error code.", ["reason"]
        )
        self._disconnects = registry.counter(
            "stream_disconnects", "Clients that left before their answer ended.", ["stage"]
        )
        for stage in ("waiting", "decode"):
            self._disconnects.labels(stage)

    def opened(self) -> None:
        """A request came in."""
        self._open.inc()

    def closed(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request is over."""
        self._open.dec()
        self._requests.labels(method, route, str(status)).inc()
        self._duration.labels(route).observe(seconds)

    def rejected(self, reason: str) -> None:
        """A request for tokens was refused; `reason` is the error's code."""
        self._rejections.labels(reason).inc()

    def disconnected(self, stage: str) -> None:
        """A client left in stage "waiting" (no token yet) or "decode"."""
        self._disconnects.labels(stage).inc()
