"""Progress of long work inside components, told to whoever runs them.

A component calls `report`; a runner installs a listener with `listen`. Without one, progress goes
to the log now and then, which is what a container's log should hold.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LOG_INTERVAL_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of work has come.

    Args:
        task: what is being done, e.g. "scoring the candidate".
        done: units done so far.
        total: units in all, 0 if not known.
        unit: name of the unit in the plural, e.g. "windows".
        note: figures worth seeing, e.g. "loss 1.42".
    """

    task: str
    done: int
    total: int
    unit: str
    note: str = ""

    def __str__(self) -> str:
        of = f"/{self.total:,}" if self.total else ""
        note = f", {self.note}" if self.note else ""
        return f"{self.task}: {self.done:,}{of} {self.unit}{note}"


class _LogListener:
    def __init__(self) -> None:
        self._last = -LOG_INTERVAL_SECONDS

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= LOG_INTERVAL_SECONDS or progress.done == progress.total:
            self._last = now
            logging.getLogger("tokenmill").info("%s", progress)


_listener: Callable[[Progress], None] = _LogListener()


def report(task: str, done: int, total: int, unit: str, note: str = "") -> None:
    """Tell the listener how far `task` has come."""
    _listener(Progress(task, done, total, unit, note))


@contextmanager
def listen(listener: Callable[[Progress], None]) -> Iterator[None]:
    """Send progress to `listener` while the context is open."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before
