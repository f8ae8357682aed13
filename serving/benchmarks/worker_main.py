"""A benchmark's worker: answers one JSON line per JSON line, for one engine.

Started by its path, maybe on another Python than Tokenmill's:

    python worker_main.py ENGINE_MODULE JOB_AS_JSON

The first line it writes tells what it has loaded, {"missing": …} or {"error": …}; then each request
{"call": method, "arguments": {…}} is answered by {"value": …} or {"error": …}.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO


def main() -> int:
    """Load the engine and serve it until stdin ends."""
    replies = _private_stdout()
    _find_own_modules()
    try:
        module = importlib.import_module(f"serving.benchmarks.engines.{sys.argv[1]}")
    except ImportError as error:
        _reply(replies, {"missing": str(error)})
        return 1
    try:
        engine = module.load(json.loads(sys.argv[2]))
        _reply(replies, {"value": engine.describe()})
    except Exception as error:
        _reply(replies, {"error": f"{type(error).__name__}: {error}"})
        raise
    for line in sys.stdin:
        _reply(replies, _answer(engine, json.loads(line)))
    return 0


def _private_stdout() -> TextIO:
    """Standard output for the replies alone; what libraries print goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _find_own_modules() -> None:
    """Let Tokenmill's packages be found after those of this Python, which may have the same libraries."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent]
    sys.path.append(str(Path(__file__).resolve().parents[2]))


def _answer(engine: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        value = getattr(engine, request["call"])(**request["arguments"])
    except Exception as error:  # the other engines go on without this one
        return {"error": f"{type(error).__name__}: {error}"}
    return {"value": dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value}


def _reply(stream: TextIO, value: dict[str, Any]) -> None:
    stream.write(json.dumps(value) + "\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
