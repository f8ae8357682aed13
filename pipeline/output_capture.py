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
    kept, streams = (os.dup(1), os.dup(2)), (sys.stdout, sys.stderr)
    with _writer(kept[1]) as terminal, log_path.open("a", buffering=1, encoding="utf-8") as log:
        try:
            for descriptor in (1, 2):
                os.dup2(log.fileno(), descriptor)
            sys.stdout = sys.stderr = log
            with _logging_to(log):
                yield terminal
        finally:
            sys.stdout, sys.stderr = streams
            for descriptor, original in enumerate(kept, 1):
                os.dup2(original, descriptor)
                os.close(original)


def _writer(descriptor: int) -> TextIO:
    return os.fdopen(os.dup(descriptor), "w", buffering=1, encoding="utf-8", errors="replace")


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
