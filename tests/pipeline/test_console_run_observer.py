from __future__ import annotations

import io

import pytest

from components.progress import Progress
from pipeline import console_run_observer
from pipeline.console_run_observer import ConsoleRunObserver


def test_a_file_gets_one_line_per_component_and_progress_now_and_then(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    observer = ConsoleRunObserver(stream)
    observer.component_started("Trainer", 6, 11)
    observer.component_progress(Progress("training", 1, 10, "steps"))
    monkeypatch.setattr(console_run_observer, "PLAIN_INTERVAL_SECONDS", 0.0)
    observer.component_progress(Progress("training", 2, 10, "steps", "loss [1]"))
    observer.component_finished("Trainer", "complete", 12.34)
    observer.component_started("Exporter", 7, 11)
    observer.component_finished("Exporter", "cached", 0.1)
    lines = stream.getvalue().splitlines()
    assert lines[0].strip() == "6/11 Trainer … training: 2/10 steps, loss [1]"
    assert "✓" in lines[1]
    assert "12.3 s" in lines[1]
    assert "↺" in lines[2]
    assert "unchanged" in lines[2]
