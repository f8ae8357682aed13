"""ConsoleRunObserver: one tidy line per component, with a moving one while it works."""

from __future__ import annotations

import time
from typing import TextIO

from rich.live import Live
from rich.text import Text

from components.progress import Progress
from pipeline.terminal import file_console, styled

_MARKS = {"complete": ("✓", "green"), "cached": ("↺", "cyan"), "failed": ("✗", "red")}
PLAIN_INTERVAL_SECONDS = 20.0
"""Between two progress lines where the output is not a terminal, such as a log of a CI job."""


class ConsoleRunObserver:
    """Writes to a terminal or, without colours and moving lines, to a file.

    Args:
        stream: usually stderr.
    """

    def __init__(self, stream: TextIO) -> None:
        self._console = file_console(stream)
        self._live: Live | None = None
        self._title = ""
        self._component = ""
        self._last_line = 0.0

    def component_started(self, component: str, number: int, total: int) -> None:
        """Show what runs now."""
        self._component, self._title = component, f"{number:>2}/{total} {component}"
        self._last_line = time.monotonic()
        if self._console.is_terminal:
            self._live = Live(_line(f"  {self._title} …"), console=self._console, transient=True)
            self._live.start()

    def component_progress(self, progress: Progress) -> None:
        """Show how far it is."""
        if self._live is not None:
            self._live.update(_line(f"  {self._title} … {progress}"))
        elif time.monotonic() - self._last_line >= PLAIN_INTERVAL_SECONDS:
            self._last_line = time.monotonic()
            self._console.print(f"  {self._title} … {progress}")

    def component_finished(self, component: str, state: str, seconds: float) -> None:
        """Replace the moving line with the result."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        note = f"{seconds:6.1f} s" if state != "cached" else "unchanged"
        self._console.print(styled(_MARKS[state], f" {self._title:<26} {note}"))


def _line(text: str) -> Text:
    line = styled(text)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
