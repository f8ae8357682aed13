"""The process's log: JSON lines on stderr, whoever writes."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from serving.gateway.json_log_formatter import JsonLogFormatter

_STDERR = 2


def log_as_json(level: int = logging.INFO) -> None:
    """Send all log records and warnings to stderr as JSON lines."""
    # A descriptor of its own, so that `native_lines_as_records` does not catch these lines.
    handler = logging.StreamHandler(os.fdopen(os.dup(_STDERR), "w", encoding="utf-8", buffering=1))
    handler.setFormatter(JsonLogFormatter())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(True)


@contextmanager
def native_lines_as_records() -> Iterator[None]:
    """Turn what native code writes to stderr meanwhile into debug records.

    TensorFlow's libraries greet there when they are loaded, and no setting silences them.
    """
    sys.stderr.flush()
    saved = os.dup(_STDERR)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), _STDERR)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, _STDERR)
            os.close(saved)
            caught.seek(0)
            for line in caught.read().decode("utf-8", "replace").splitlines():
                logging.getLogger("native").debug(line)
