"""DecodeBenchmark: engines with the same weights take turns at the same prompts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from models.contract.errors import EngineError
from serving.benchmarks.decode_run import Contender, DecodeRun
from serving.benchmarks.worker_process import WorkerProcess

_PROBE = "bandwidth_probe"


class DecodeBenchmark:
    """Alternating rounds, each engine in a process of its own that stays.

    Args:
        vocab_size: prompts are random ids below it.
        prompt: ids per prompt.
        tokens: ids per answer, at least 2: the first is the prefill's, the others are decode steps.
        rounds: turns per engine, after one that is not counted.
        threads: of each engine.
        python: Tokenmill's interpreter, for the bandwidth probe.
        logs: existing directory for what the engines print.
        tell: called with a line about each thing done.

    Attributes:
        runs: all turns so far.
        about: by contender's name, what its engine says of itself.
        missing: by contender's name, why it does not take part.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        prompt: int,
        tokens: int,
        rounds: int,
        threads: int,
        python: Path,
        logs: Path,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._vocab_size = vocab_size
        self._prompt = prompt
        self._tokens = tokens
        self._rounds = rounds
        self._threads = threads
        self._python = python
        self._logs = logs
        self._tell = tell
        self.runs: list[DecodeRun] = []
        self.about: dict[str, dict[str, Any]] = {}
        self.missing: dict[str, str] = {}

    def measure(self, batch: int, contenders: Sequence[Contender]) -> None:
        """All rounds of one batch size; an engine that fails is noted as missing and left out."""
        prompts = random_prompts(self._vocab_size, batch, self._prompt)
        with ExitStack() as stack:
            probe = WorkerProcess(_PROBE, {"threads": self._threads}, self._python, self._logs / "probe.log")
            stack.callback(probe.close)
            workers: dict[str, WorkerProcess] = {}
            for contender in contenders:
                self._tell(f"batch {batch}: {contender.name} loads and warms up")
                worker = self._started(contender, prompts)
                if worker is not None:
                    stack.callback(worker.close)
                    workers[contender.name] = worker
            for number in range(self._rounds):
                for name in rotated(list(workers), number):
                    run = self._turn(workers[name], prompts, number, name, probe)
                    self._tell(f"batch {batch}, round {number + 1}: {name} {run.step_seconds * 1e3:.1f} ms")
                    self.runs.append(run)

    def _started(self, contender: Contender, prompts: list[list[int]]) -> WorkerProcess | None:
        """The worker, its shapes run once; None, and the reason noted, where that fails."""
        worker = None
        try:
            worker = WorkerProcess(
                contender.engine, contender.job, contender.python, self._logs / f"{contender.name}.log"
            )
            if not worker.missing:
                worker.call("run", prompts=prompts, tokens=self._tokens)
                self.about[contender.name] = worker.about
                return worker
            self.missing[contender.name] = worker.missing
        except EngineError as error:
            self.missing[contender.name] = str(error)
        if worker is not None:
            worker.close()
        return None

    def _turn(
        self,
        worker: WorkerProcess,
        prompts: list[list[int]],
        number: int,
        name: str,
        probe: WorkerProcess,
    ) -> DecodeRun:
        bandwidth = probe.call("measure")
        answer = worker.call("run", prompts=prompts, tokens=self._tokens)
        return DecodeRun(
            batch=len(prompts),
            round=number,
            engine=name,
            first_seconds=answer["first_seconds"],
            step_seconds=answer["decode_seconds"] / (self._tokens - 1),
            bandwidth=bandwidth,
            ids=answer["ids"],
        )


def random_prompts(vocab_size: int, rows: int, length: int) -> list[list[int]]:
    """[rows][length] ids, the same in every call; a batch's first rows are those of a smaller one."""
    random_ids = random.Random(0)
    return [[random_ids.randrange(vocab_size) for _ in range(length)] for _ in range(rows)]


def rotated(names: list[str], number: int) -> list[str]:
    """The order of a round: each begins with another engine, so that none always follows the same load."""
    shift = number % len(names) if names else 0
    return names[shift:] + names[:shift]
