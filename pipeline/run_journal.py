"""RunJournal: the small file beside a run's log that says what ML Metadata cannot know."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import psutil

JOURNAL_FILE = "run.json"
LOG_FILE = "run.log"
CONFIG_FILE = "config.yaml"
INTERRUPTED = "interrupted"
"""Recorded as the error of a run that was stopped from outside."""

_TYPES: dict[str, tuple[type, ...]] = {
    "pipeline": (str,),
    "pid": (int,),
    "process_started": (int, float),
    "started": (int, float),
    "seconds": (int, float),
    "peak_memory_bytes": (int,),
    "error": (str, type(None)),
}


class RunJournal:
    """Process, error, wall time and peak memory of one run, rewritten as a whole at each change.

    Args:
        directory: the run's folder; made if missing.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._values: dict[str, Any] = {}

    @property
    def log_path(self) -> Path:
        """Where the run's log goes."""
        return self.directory / LOG_FILE

    def start(self, pipeline: str, config_yaml: str) -> None:
        """Record that this process runs it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / CONFIG_FILE).write_text(config_yaml, encoding="utf-8")
        process = psutil.Process()
        self._values = {
            "pipeline": pipeline,
            "pid": process.pid,
            "process_started": process.create_time(),
            "started": time.time(),
        }
        self._write()

    def finish(self, error: str | None = None) -> None:
        """Record the end, and why if it is a failure."""
        self._values |= {
            "seconds": time.time() - self._values["started"],
            "peak_memory_bytes": peak_memory_bytes(),
            "error": error,
            "finished": True,
        }
        self._write()

    def _write(self) -> None:
        temporary = self.directory / f"{JOURNAL_FILE}.{os.getpid()}"
        temporary.write_text(json.dumps(self._values, indent=2) + "\n", encoding="utf-8")
        temporary.replace(self.directory / JOURNAL_FILE)

    @staticmethod
    def read(directory: Path) -> dict[str, Any]:
        """The recorded values; empty if there are none or the file is not what `start` wrote."""
        try:
            values = json.loads((directory / JOURNAL_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return values if _is_journal(values) else {}

    @staticmethod
    def is_broken(directory: Path) -> bool:
        """Whether a run's folder holds a journal that cannot be read."""
        return (directory / JOURNAL_FILE).exists() and not RunJournal.read(directory)

    @staticmethod
    def is_alive(values: dict[str, Any]) -> bool:
        """Whether the process that ran it still does; a reused process id does not count."""
        try:
            process = psutil.Process(values["pid"])
            return abs(process.create_time() - values["process_started"]) < 1
        except (psutil.Error, KeyError):
            return False


def _is_journal(values: Any) -> bool:
    return (
        isinstance(values, dict)
        and {"pipeline", "pid", "process_started", "started"} <= values.keys()
        and all(isinstance(values[key], kinds) for key, kinds in _TYPES.items() if key in values)
    )


def peak_memory_bytes() -> int:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
