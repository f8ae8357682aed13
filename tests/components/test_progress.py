from __future__ import annotations

import logging

import pytest

from components import progress


def test_progress_goes_to_the_innermost_listener():
    outer, inner = [], []
    with progress.listen(outer.append):
        progress.report("a", 1, 2, "steps")
        with progress.listen(inner.append):
            progress.report("b", 1, 2, "steps")
        progress.report("c", 2, 2, "steps", "loss 1")
    assert [p.task for p in outer] == ["a", "c"]
    assert [p.task for p in inner] == ["b"]
    assert str(outer[1]) == "c: 2/2 steps, loss 1"


def test_without_a_listener_the_log_gets_the_end(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "tokenmill"):
        progress.report("scoring", 7, 7, "windows")
    assert "scoring: 7/7 windows" in caplog.text
