"""RunObserver: whoever wants to see a run's progress."""

from __future__ import annotations

from typing import Protocol

from components.progress import Progress


class RunObserver(Protocol):
    """Told about a run while it goes on."""

    def component_started(self, component: str, number: int, total: int) -> None:
        """A component starts, the `number`-th of `total`."""

    def component_progress(self, progress: Progress) -> None:
        """The running component has come further."""

    def component_finished(self, component: str, state: str, seconds: float) -> None:
        """A component ended as "complete", "cached" or "failed"."""
