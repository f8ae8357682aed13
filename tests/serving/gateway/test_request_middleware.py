from __future__ import annotations

import json
import logging

import httpx
import pytest

from models.contract.errors import EngineError
from serving.gateway.json_log_formatter import JsonLogFormatter
from tests.serving.gateway.fake_engine import FakeEngine, eventually, running_gateway

SECRET = "my mother's maiden name"


class _Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.setFormatter(JsonLogFormatter())
        self.lines: list[dict] = []

    def emit(self, record):
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def log():
    handler, root = _Lines(), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.lines
    root.removeHandler(handler)
    root.setLevel(before)


def request_lines(log: list[dict]) -> list[dict]:
    return [line for line in log if line["message"] == "request"]


def test_a_sane_request_id_is_kept_another_is_replaced():
    with running_gateway() as gateway:
        kept = httpx.get(f"{gateway.url}/healthz", headers={"x-request-id": "trace-1.2:3"})
        replaced = httpx.get(f"{gateway.url}/healthz", headers={"x-request-id": "a b\tc"})
        made = [httpx.get(f"{gateway.url}/healthz").headers["x-request-id"] for _ in range(2)]
    assert kept.headers["x-request-id"] == "trace-1.2:3"
    assert replaced.headers["x-request-id"].startswith("req-")
    assert made[0] != made[1]


def test_one_line_per_request_without_any_text(log):
    script = [(SECRET, 65)] * 3
    with running_gateway(FakeEngine(script=script)) as gateway:
        for stream in (True, False):
            httpx.post(
                f"{gateway.url}/v1/completions", json={"prompt": SECRET, "stream": stream, "user": SECRET}
            )
        eventually(lambda: len(request_lines(log)) == 2)
    for line in request_lines(log):
        assert (line["status"], line["route"], line["error"]) == (200, "/v1/completions", None)
        assert (line["prompt_tokens"], line["completion_tokens"]) == (len(SECRET), 3)
        assert line["seconds"] > 0
        assert line["level"] == "info"
    ours = [line for line in log if not line["logger"].startswith(("http", "asyncio"))]
    assert SECRET not in json.dumps(ours)


def test_refusals_do_not_log_the_prompt_either(log):
    with running_gateway() as gateway:
        body = {"prompt": SECRET * 10, "stop": SECRET, "max_tokens": 10}
        assert httpx.post(f"{gateway.url}/v1/completions", json=body).status_code == 400
        eventually(lambda: request_lines(log) != [])
    (line,) = request_lines(log)
    assert (line["status"], line["error"]) == (400, "context_length")
    assert SECRET not in json.dumps(line)


def test_probes_are_no_news(log):
    with running_gateway() as gateway:
        httpx.get(f"{gateway.url}/healthz")
        httpx.get(f"{gateway.url}/metrics")
        eventually(lambda: len(request_lines(log)) == 2)
    assert {line["level"] for line in request_lines(log)} == {"debug"}


def test_an_error_within_a_stream_is_logged_with_its_code(log):
    with running_gateway(FakeEngine(failure=EngineError("a step failed."), fail_at=1)) as gateway:
        httpx.post(f"{gateway.url}/v1/completions", json={"prompt": "x", "stream": True})
        eventually(lambda: request_lines(log) != [])
    (line,) = request_lines(log)
    assert (line["status"], line["error"], line["completion_tokens"]) == (200, "engine", 1)


@pytest.mark.parametrize("fail_at", [0, 1])
def test_what_nobody_foresaw_is_logged_with_its_traceback(log, fail_at):
    with running_gateway(FakeEngine(failure=ZeroDivisionError("inside"), fail_at=fail_at)) as gateway:
        response = httpx.post(f"{gateway.url}/v1/completions", json={"prompt": "x", "stream": True})
        eventually(lambda: request_lines(log) != [])
    (failure,) = [
        line for line in log if "exception" in line and line["logger"].startswith("serving.gateway")
    ]
    assert "ZeroDivisionError: inside" in failure["exception"]
    assert failure["request_id"] == response.headers["x-request-id"]
    assert request_lines(log)[0]["error"] == "internal"
