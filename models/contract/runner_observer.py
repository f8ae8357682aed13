"""RunnerObserver: what a model runner tells whoever measures it."""

from __future__ import annotations


class RunnerObserver:
    """Receives a runner's events; this one ignores them, subclasses keep what they need.

    Called from the thread that runs the model and from the one that warms it.
    """

    def buckets(self, warm: int, total: int) -> None:
        """So many of the package's XLA buckets are compiled."""

    def compiled(self, seconds: float) -> None:
        """A bucket was compiled for the first time; took so many seconds with its first call."""

    def executor_built(self, signature: str) -> None:
        """A signature was called for the first time: the session built its executor."""

    def decode_call(self, *, compiled: bool) -> None:
        """A decode call ran compiled or not."""
