"""The end of the one process: whatever goes on in it, signals end it in time and with 0."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tokenmill_client import Client, ClientError

ROOT = Path(__file__).resolve().parents[3]

SERVER = """
import asyncio, sys, time
from pathlib import Path
from types import SimpleNamespace

from serving.gateway.process_log import log_as_json
from serving.gateway.single_process import serve_package
from serving.runners.warmup_progress import WarmupProgress
from tests.serving.gateway.fake_engine import MODEL, FakeEngine

hang, drain_seconds = sys.argv[1], float(sys.argv[2])


class Engine(FakeEngine):
    async def start(self):
        pass

    async def stop(self, drain_seconds):
        await asyncio.sleep(100 if hang == "step" else 0)


class Runner:
    warmup = SimpleNamespace(
        start=lambda: None,
        stop=lambda wait: None,
        progress=WarmupProgress(0, 1),
        running=hang == "compiler",
    )

    def close(self):
        print("closing", flush=True)
        time.sleep(100 if hang == "closing" else 0)
        print("closed", flush=True)


async def nothing():
    pass


engine = Engine(interval=20.0, first=0.0)
backend = SimpleNamespace(engine=engine, runner=Runner(), model=MODEL, warm_up=nothing)
# In place of the module that brings in TensorFlow.
sys.modules["serving.gateway.local_backend"] = SimpleNamespace(
    LocalBackend=SimpleNamespace(load=lambda *_: backend)
)
log_as_json()
asyncio.run(
    serve_package(
        Path("p"),
        "127.0.0.1",
        0,
        drain_seconds,
        prepare=lambda: None,
        on_ready=lambda *it: print(*it, flush=True),
    )
)
"""


@contextmanager
def serving(hang: str, drain_seconds: float) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in which something hangs for 100 seconds, and its URL."""
    line = [sys.executable, "-c", SERVER, hang, str(drain_seconds)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process, process.stdout.readline().split()[0]
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, list[str]]:
    """Exit code, stdout and the log's messages."""
    out, log = process.communicate(timeout=20)
    return process.returncode, out, [json.loads(line)["message"] for line in log.splitlines()]


def test_the_compiler_is_not_waited_for():
    with serving("compiler", 0.2) as (process, _):
        process.send_signal(signal.SIGTERM)
        code, out, messages = ended(process)
    assert (code, out) == (0, "")
    assert "drained" in messages
    assert messages[-1] == "ended without waiting for a step or a compilation"


@pytest.mark.parametrize(("hang", "out"), [("step", ""), ("closing", "closing\n")])
def test_nor_is_what_hangs(hang: str, out: str):
    with serving(hang, 0.2) as (process, _):
        process.send_signal(signal.SIGTERM)
        code, found, messages = ended(process)
    assert (code, found) == (0, out)
    assert messages[-1] == "ended without waiting for a step or a compilation"


def test_where_nothing_hangs_all_is_put_away():
    with serving("nothing", 60) as (process, _):
        process.send_signal(signal.SIGTERM)
        code, out, messages = ended(process)
    assert (code, out) == (0, "closing\nclosed\n")
    assert "drained" in messages


@pytest.mark.parametrize("hang", ["nothing", "compiler"])
def test_a_second_signal_cuts_a_drain_short(hang: str):
    with serving(hang, 60) as (process, url), Client(url) as client:
        stream = client.stream("Hi", max_tokens=9)
        next(stream)
        process.send_signal(signal.SIGTERM)
        while json.loads(process.stderr.readline())["message"] != "draining":
            pass
        process.send_signal(signal.SIGINT)
        code, _, messages = ended(process)
        with pytest.raises(ClientError):
            list(stream)
    assert code == 0
    assert "drain cut short" in messages
