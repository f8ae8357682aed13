"""Runs killed with SIGKILL at random points, in a folder that is watched all the time."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ml_metadata.proto import metadata_store_pb2

from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_store import open_existing
from models.contract.labels import Labels
from models.contract.manifest import Manifest
from models.contract.package import versions
from models.contract.release_log import ReleaseLog
from models.package import verify_content
from pipeline.lineage_tracer import LineageTracer
from pipeline.run_record import RunRecord
from pipeline.run_registry import RunRegistry
from tests.e2e.mill import Mill, make_mill, standing_in
from tests.push_watch import PushWatch

ROOT = Path(__file__).resolve().parents[2]
PUSHING = "a push"
SEED = int(os.environ.get("KILL_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
"""Printed when a test fails; KILL_SEED repeats the same delays."""


@dataclass(frozen=True)
class KillPoint:
    """When to kill.

    Args:
        after: "" for the start of the process, a component for its end, or PUSHING for the moment a
            push begins to copy.
        delay: seconds after that.
    """

    after: str
    delay: float


class Run:
    """A `tokenmill run` in a process of its own."""

    def __init__(self, mill: Mill, config: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "run", "--config", str(config), "--json"],
            cwd=mill.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._out: list[str] = []
        self.told: list[str] = []
        self._threads = [threading.Thread(target=self._read_err), threading.Thread(target=self._read_out)]
        for thread in self._threads:
            thread.start()

    def kill_at(self, point: KillPoint, watch: PushWatch) -> bool:
        """Kill it at a point; False if it ended before."""
        reached = self._reach_push(watch) if point.after == PUSHING else self._reach_end_of(point.after)
        if not reached:
            self.finish()
            return False
        time.sleep(point.delay)
        self._process.send_signal(signal.SIGKILL)
        self.finish()
        return self._process.returncode == -signal.SIGKILL

    def finish(self) -> int:
        """Wait for its end; returns the exit code."""
        self._process.wait()
        for thread in self._threads:
            thread.join()
        return self._process.returncode

    def result(self) -> dict[str, Any]:
        """What it printed."""
        return json.loads("".join(self._out))

    def _reach_end_of(self, component: str) -> bool:
        if not component:
            return True
        while (line := self._lines.get()) is not None:
            if f" {component} " in line and line[0] in "✓↺":
                return True
        return False

    def _reach_push(self, watch: PushWatch) -> bool:
        while self._process.poll() is None:
            if watch.copying.wait(0.01):
                return True
        return False

    def _read_err(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.told.append(line)
            self._lines.put(line)
        self._lines.put(None)

    def _read_out(self) -> None:
        assert self._process.stdout is not None
        self._out.extend(self._process.stdout)


@pytest.fixture
def mill(tmp_path: Path) -> Iterator[Mill]:
    with standing_in(tmp_path):
        yield make_mill(tmp_path)


def _check_records(mill: Mill) -> list[RunRecord]:
    """ML Metadata after a kill: nothing is live whose files are missing, and no dead run seems to run."""
    workdir = mill.folder / ".tokenmill"
    records = list(RunRegistry.of_workdir(workdir).list())
    store = open_existing(MetadataConnection.sqlite(workdir / "metadata.sqlite"))
    for artifact in store.get_artifacts() if store else ():
        if artifact.state == metadata_store_pb2.Artifact.LIVE:
            assert Path(artifact.uri).exists(), f"{artifact.uri} is live but not there"
    for record in records:
        assert record.state in ("interrupted", "pushed", "unchanged"), record.state
        assert [run.id for run in record.components if run.state == "running"] == []
    return records


def _check_push(mill: Mill) -> None:
    base = mill.push_base
    there = versions(base)
    for version in there:
        verify_content(base / str(version), Manifest.load(base / str(version)))
    assert mill.versions() == list(map(str, there))
    log, labels = ReleaseLog.load(base), Labels.load(base)
    assert labels == Labels.replay(log.records)
    assert labels is not None
    assert labels.stable == there[0]
    assert sorted(log.versions) == there


def _check_lineage(mill: Mill) -> None:
    """Each version was measured against the one before, down to the pretrained model."""
    registry = RunRegistry.of_workdir(mill.folder / ".tokenmill")
    graph = registry.graph()
    chain = LineageTracer(graph, registry.list(graph)).trace(None).chain
    assert [link.version for link in chain] == [*versions(mill.push_base)[::-1], None]


def _config(mill: Mill, number: int) -> Path:
    """A config that trains a little more than the one before, so that something is left to push."""
    training = {**mill.settings["training"], "tokens": 9_000 + 2_048 * number, "save_every_steps": 5}
    # Each model is compared with the one before; how they compare is not what is tried out here.
    return mill.write(f"config{number}", training=training, gate={"max_fraction": 1.0, "max_ratio": 9.0})


def _torment(mill: Mill, points: list[KillPoint]) -> int:
    """Kill runs at the points and let one finish; how many were killed."""
    print(f"KILL_SEED={SEED}: {points}")
    number = killed = 0
    with PushWatch(mill.push_base) as watch:
        for point in points:
            while not Run(mill, _config(mill, number)).kill_at(point, watch):
                number += 1
            killed += 1
            print(f"{killed} of {len(points)} killed, {point}; versions {watch.seen}", flush=True)
            _check_records(mill)
        run = Run(mill, _config(mill, number))
        assert run.finish() == 0, "".join(run.told)
        result = run.result()
    assert result["state"] in ("pushed", "unchanged")
    assert killed == len(points)
    assert "interrupted" in [record.state for record in _check_records(mill)]
    assert watch.seen == versions(mill.push_base)
    assert result["pushed_version"] == watch.seen[-1]
    _check_push(mill)
    _check_lineage(mill)
    return killed


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_run_killed_in_training_and_in_the_push_is_finished_by_the_next_ones(mill: Mill):
    dice = random.Random(SEED)
    points = [KillPoint("Transform", dice.uniform(0.5, 4.0)), KillPoint(PUSHING, dice.uniform(0.0, 0.03))]
    assert _torment(mill, points) == 2


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_runs_killed_at_many_random_points_are_finished_by_the_next_ones(mill: Mill):
    dice = random.Random(SEED)
    after = [
        "",
        "CorpusExampleGen",
        "StatisticsGen",
        "ExampleValidator",
        "Transform",
        "Trainer",
        "Exporter",
        "BaselineLookup",
        "PerplexityEvaluator",
    ]
    points = [KillPoint(component, dice.uniform(0.0, 3.0)) for component in after]
    points += [KillPoint(PUSHING, dice.uniform(0.0, 0.05)) for _ in range(3)]
    dice.shuffle(points)
    assert _torment(mill, points) == 12
