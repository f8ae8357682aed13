"""MetricsObserver: what the engine tells whoever measures it.

The engine is pure; it reports events and their durations in seconds, an observer turns them into
time series (`monitoring/`), and tests record them.
"""

from __future__ import annotations


class MetricsObserver:
    """Receives the engine's events; this one ignores them, subclasses keep what they need.

    Every duration is in seconds on one monotonic clock.
    """

    def request_queued(self, prompt_tokens: int) -> None:
        """A request entered the waiting queue."""

    def first_token(self, ttft: float, queue_time: float) -> None:
        """A request got its first token, `ttft` after its arrival."""

    def tokens_generated(self, count: int, interval: float) -> None:
        """A running request got `count` more tokens `interval` after the ones before."""

    def request_finished(self, reason: str, output_tokens: int, e2e: float) -> None:
        """A request ended; `reason` is a FinishReason's value."""

    def step(self, kind: str, rows: int, tokens: int, duration: float) -> None:
        """The runner ran one step of `kind` "prefill" or "decode"."""

    def guessed(self, drafted: int, accepted: int) -> None:
        """A step checked `drafted` tokens guessed ahead; `accepted` of them were right."""

    def preempted(self) -> None:
        """A running request lost its blocks and went back to the waiting queue."""

    def prefix_cache(self, queried: int, hit: int) -> None:
        """A request looked up `queried` prompt tokens and found `hit` of them."""

    def gauges(self, running: int, waiting: int, used_blocks: int, total_blocks: int) -> None:
        """State after a step; `total_blocks` does not count the null block."""
