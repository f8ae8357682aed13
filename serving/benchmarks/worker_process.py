"""WorkerProcess: an engine in a process of its own, asked over pipes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

from models.contract.errors import EngineError

_MAIN = Path(__file__).with_name("worker_main.py")
_LAST_WORDS = 2000
"""Characters of a worker's standard error that an error shows."""


class WorkerProcess:
    """Starts the worker and waits until it has loaded its engine.

    Args:
        engine: module name below `serving.benchmarks.engines`.
        job: what its `load` takes.
        python: interpreter to run it with.
        log: file for what the engine prints.

    Attributes:
        about: what the engine says of itself.
        missing: why the engine cannot be imported there; "" if it can.

    Raises:
        EngineError: there is no such interpreter, or the engine is imported but does not load.
    """

    def __init__(self, engine: str, job: dict[str, Any], python: Path, log: Path) -> None:
        self._engine = engine
        self._log = log
        self.about: dict[str, Any] = {}
        self.missing = ""
        self._process = _started([str(python), str(_MAIN), engine, json.dumps(job)], job["threads"], log)
        first = self._reply()
        if "missing" in first:
            self.missing = first["missing"]
            self.close()
        elif "error" in first:
            self.close()
            raise EngineError(f"benchmark engine `{engine}` does not load: {first['error']}.")
        else:
            self.about = first["value"]

    @property
    def process_id(self) -> int:
        """Of the worker."""
        return self._process.pid

    def call(self, method: str, **arguments: Any) -> Any:
        """Call a method of the engine; returns what it returned, data classes as mappings.

        Raises:
            EngineError: it raised, or its process ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"call": method, "arguments": arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._ended() from error
        answer = self._reply()
        if "error" in answer:
            raise EngineError(f"benchmark engine `{self._engine}` failed: {answer['error']}.")
        return answer["value"]

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _ended(self) -> EngineError:
        self.close()
        words = self._log.read_text(errors="replace")[-_LAST_WORDS:].strip() or "no message"
        code = self._process.returncode
        return EngineError(f"benchmark engine `{self._engine}` ended with {code}: {words}")

    def close(self) -> None:
        """End the process. Closing twice is harmless."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # A request that a dead worker never read is written once more by closing.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _started(command: list[str], threads: int, log: Path) -> subprocess.Popen[str]:
    try:
        with log.open("wb") as stderr:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=_environment(threads),
            )
    except OSError as error:
        raise EngineError(f"benchmark worker {command[0]} does not start: {error.strerror}.") from error


def _environment(threads: int) -> dict[str, str]:
    """Waiting threads sleep: a worker whose turn it is not must leave the cores alone."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "KMP_BLOCKTIME": "0",
        # The bandwidth probe has threads of its own, one dot product each.
        "OPENBLAS_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONPATH": "",
    }
