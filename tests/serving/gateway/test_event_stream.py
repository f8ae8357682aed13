"""What a stream looks like on the wire."""

from __future__ import annotations

import json
import time

import pytest

from models.contract.errors import EngineError
from serving.engine.finish_reason import FinishReason
from serving.gateway.gateway_config import GatewayConfig
from tests.serving.gateway.fake_engine import FakeEngine, eventually, running_gateway
from tests.serving.gateway.wire import connect, events, read_until


def stream_of(engine: FakeEngine, config: GatewayConfig | None = None, **body) -> bytes:
    with running_gateway(engine, config) as gateway, connect(gateway, stream=True, **body) as connection:
        return read_until(connection, b"0\r\n\r\n")


def test_headers_keep_proxies_from_buffering():
    head = stream_of(FakeEngine()).partition(b"\r\n\r\n")[0].decode().lower()
    assert "200 ok" in head
    assert "content-type: text/event-stream; charset=utf-8" in head
    assert "cache-control: no-cache, no-transform" in head
    assert "x-accel-buffering: no" in head
    assert "x-request-id: req-" in head
    assert "content-encoding" not in head


def test_a_stream_ends_with_done():
    *chunks, done = events(stream_of(FakeEngine(), max_tokens=3))
    assert done == "[DONE]"
    assert "".join(json.loads(chunk)["choices"][0]["text"] for chunk in chunks) == "Hel"
    assert all("usage" not in json.loads(chunk) for chunk in chunks)


def test_every_chunk_but_the_last_has_null_usage_when_usage_is_asked_for():
    *chunks, _ = events(stream_of(FakeEngine(), max_tokens=3, stream_options={"include_usage": True}))
    *pieces, last = [json.loads(chunk) for chunk in chunks]
    assert all(piece["usage"] is None for piece in pieces)
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}


def test_a_late_failure_is_an_event_then_done_then_the_end():
    engine = FakeEngine(failure=EngineError("a step failed.", remedy="Try again."), fail_at=2)
    *chunks, failure, done = events(stream_of(engine))
    assert len(chunks) == 2
    assert done == "[DONE]"
    assert json.loads(failure)["error"] == {
        "message": "a step failed. Try again.",
        "type": "server_error",
        "param": None,
        "code": "engine",
    }


def test_a_late_failure_nobody_foresaw_is_an_event_without_details():
    *_, failure, done = events(stream_of(FakeEngine(failure=ZeroDivisionError("secret"), fail_at=2)))
    assert done == "[DONE]"
    assert json.loads(failure)["error"]["code"] == "internal"
    assert "secret" not in failure


def test_an_answer_given_up_is_an_error_not_a_finish_reason():
    *chunks, failure, _ = events(stream_of(FakeEngine(last_reason=FinishReason.ABORT), max_tokens=3))
    assert json.loads(failure)["error"]["code"] == "unavailable"
    assert all(json.loads(chunk)["choices"][0]["finish_reason"] is None for chunk in chunks)


def test_keepalives_fill_silence():
    config = GatewayConfig(headers_grace=0.05, ping_interval=0.05)
    data = stream_of(FakeEngine(first=0.5), config, max_tokens=1)
    assert data.index(b"200 OK") < data.index(b": ping\n\n") < data.index(b"data: ")
    assert 4 <= data.count(b": ping\n\n") <= 12


def test_keepalives_stop_when_the_engine_stalls():
    config = GatewayConfig(headers_grace=0.02, ping_interval=0.02)
    with (
        running_gateway(FakeEngine(first=30.0), config) as gateway,
        connect(gateway, stream=True) as connection,
    ):
        read_until(connection, b": ping\n\n")
        gateway.engine.stuck_seconds = config.stall_timeout + 1
        time.sleep(0.1)
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            read_until(connection, b"[DONE]")
        gateway.engine.stuck_seconds = 0.0
        connection.settimeout(5)
        read_until(connection, b": ping\n\n")


def test_a_client_that_stops_reading_is_given_up():
    big = [("x" * 2**20, 65)] * 60
    with running_gateway(FakeEngine(script=big), GatewayConfig(write_timeout=0.3)) as gateway:
        with connect(gateway, stream=True, max_tokens=60) as connection:
            connection.settimeout(20)
            eventually(lambda: gateway.engine.ended and not gateway.engine.running, 10)
            assert max(gateway.engine.steps.values()) < 60
        eventually(lambda: gateway.gateway.admission.in_flight == 0)


def test_a_client_that_reads_slowly_gets_everything():
    big = [("x" * 65536, 65)] * 60
    with (
        running_gateway(FakeEngine(script=big)) as gateway,
        connect(gateway, stream=True, max_tokens=60) as slow,
    ):
        data = b""
        while b"[DONE]" not in data[-200:]:
            data += slow.recv(1 << 20)
            time.sleep(0.01)
    assert data.count(b"x" * 65536) == 60
