"""MetricsRegistry: one process's Prometheus metrics, in a registry of its own.

Suffixes and buckets follow vLLM's, so that dashboards made for it port by changing the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import choose_encoder

PREFIX = "tokenmill_"

TTFT_BUCKETS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
"""Seconds; also used for queue times, which are a part of the time to first token."""

INTERVAL_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0)
"""Seconds between two outputs of one request, and of one step."""

E2E_BUCKETS = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
"""Seconds from arrival to the last token."""

TOKEN_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000)
"""Token counts of one request or one step."""


class MetricsRegistry:
    """Makes metrics with Tokenmill's prefix and renders them.

    Nothing is global: two registries in one process (two servers in one test) do not meet.
    """

    def __init__(self) -> None:
        self.collectors = CollectorRegistry()
        PlatformCollector(registry=self.collectors)
        ProcessCollector(registry=self.collectors)

    def counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
        """A counter `tokenmill_<name>_total`."""
        return Counter(PREFIX + name, text, labels, registry=self.collectors)

    def gauge(self, name: str, text: str, labels: Sequence[str] = ()) -> Gauge:
        """A gauge `tokenmill_<name>`."""
        return Gauge(PREFIX + name, text, labels, registry=self.collectors)

    def histogram(
        self, name: str, text: str, buckets: Sequence[float], labels: Sequence[str] = ()
    ) -> Histogram:
        """A histogram `tokenmill_<name>` with upper bounds `buckets`."""
        return Histogram(PREFIX + name, text, labels, buckets=buckets, registry=self.collectors)

    def render(self, accept: str | None = None) -> tuple[bytes, str]:
        """All metrics as text.

        Args:
            accept: the scraper's Accept header; OpenMetrics if it asks for it, else Prometheus text.

        Returns:
            The text and its content type.
        """
        encode, content_type = choose_encoder(accept or "")
        return encode(self.collectors), content_type
