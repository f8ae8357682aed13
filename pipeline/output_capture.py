"""Keeping a run's chatter off the terminal: it goes to a log file, our own lines still come through."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@contextmanager
def captured_output(log_path: Path) -> Iterator[TextIO]:
    """Send logging, warnings, stdout and stderr of this process to a file while the context is open.

    File descriptors are redirected, not just Python's objects, because TensorFlow and ML Metadata
    write from C++. Child processes inherit the redirection.

    Args:
        log_path: appended to.

    Yields:
        The terminal's stderr, for what people should see.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept_out, kept_err = os.dup(1), os.dup(2)
    streams = sys.stdout, sys.stderr
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    terminal = open(os.dup(kept_err), "w", buffering=1, encoding="utf-8", errors="replace")
    sink = open(os.dup(log), "w", buffering=1, encoding="utf-8", errors="replace")
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    sys.stdout = sys.stderr = sink
    try:
        with _logging_to(sink):
            yield terminal
    finally:
        sys.stdout, sys.stderr = streams
        sink.flush()
        terminal.flush()
        os.dup2(kept_out, 1)
        os.dup2(kept_err, 2)
        for handle in (kept_out, kept_err):
            os.close(handle)
        terminal.close()
        sink.close()


@contextmanager
def _logging_to(sink: TextIO) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    handler = logging.StreamHandler(sink)
    handler.setFormatter(logging.Formatter(_FORMAT))
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        with warnings.catch_warnings():
            yield
    finally:
        logging.captureWarnings(False)
        root.handlers[:] = handlers
        root.setLevel(level)
