from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from models.contract.errors import EngineError
from serving.benchmarks.worker_process import WorkerProcess

PYTHON = Path(sys.executable)


def test_a_worker_answers_call_after_call_and_ends_with_its_owner(tmp_path: Path):
    with WorkerProcess("bandwidth_probe", {"threads": 1}, PYTHON, tmp_path / "log") as probe:
        assert probe.about["version"].startswith("NumPy")
        assert all(probe.call("measure") > 1e8 for _ in range(2))
    assert not psutil.pid_exists(probe.process_id)


def test_an_engine_whose_package_is_not_installed_is_missing_by_name(tmp_path: Path):
    worker = WorkerProcess("llama_cpp_engine", {"threads": 1}, PYTHON, tmp_path / "log")
    assert worker.missing == "No module named 'llama_cpp'"


def test_an_engine_that_does_not_load_says_why(tmp_path: Path):
    with pytest.raises(EngineError, match="`bandwidth_probe` does not load: TypeError"):
        WorkerProcess("bandwidth_probe", {"threads": "two"}, PYTHON, tmp_path / "log")


def test_a_failing_call_is_told_and_the_worker_lives_on(tmp_path: Path):
    with WorkerProcess("bandwidth_probe", {"threads": 1}, PYTHON, tmp_path / "log") as probe:
        with pytest.raises(EngineError, match="TypeError"):
            probe.call("measure", passes=3)
        assert probe.call("measure") > 0


def test_a_worker_that_dies_is_told_with_its_last_words(tmp_path: Path):
    probe = WorkerProcess("bandwidth_probe", {"threads": 1}, PYTHON, tmp_path / "log")
    psutil.Process(probe.process_id).kill()
    os.waitid(os.P_PID, probe.process_id, os.WEXITED | os.WNOWAIT)
    (tmp_path / "log").write_text("out of memory")
    with pytest.raises(EngineError, match="ended with -9: out of memory"):
        probe.call("measure")


def test_a_worker_that_waits_leaves_the_cores_alone(tmp_path: Path):
    with WorkerProcess("bandwidth_probe", {"threads": 2}, PYTHON, tmp_path / "log") as probe:
        probe.call("measure")
        process = psutil.Process(probe.process_id)
        before = sum(process.cpu_times()[:2])
        time.sleep(0.5)
        assert sum(process.cpu_times()[:2]) - before < 0.1


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(EngineError, match="python9 does not start: No such file"):
        WorkerProcess("bandwidth_probe", {"threads": 1}, Path("/none/python9"), tmp_path / "log")
