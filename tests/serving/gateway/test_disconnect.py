"""Clients that leave, in every phase, streaming or not: the engine stops for them at once."""

from __future__ import annotations

import pytest

from serving.gateway.gateway_config import GatewayConfig
from tests.serving.gateway.fake_engine import FakeEngine, RunningGateway, eventually, running_gateway
from tests.serving.gateway.wire import connect, read_until, request_bytes


def metric(gateway: RunningGateway, name: str, **labels: str) -> float:
    return gateway.gateway.registry.collectors.get_sample_value(f"tokenmill_{name}", labels) or 0.0


@pytest.mark.parametrize("stream", [False, True])
def test_leaving_while_the_prompt_is_tokenized(stream):
    with running_gateway(FakeEngine(tokenize_seconds=60)) as gateway:
        connect(gateway, stream=stream).close()
        eventually(lambda: metric(gateway, "stream_disconnects_total", stage="waiting") == 1)
        assert gateway.engine.requests == {}
        assert gateway.gateway.admission.in_flight == 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("grace", [0.01, 60.0], ids=["headers sent", "headers not sent"])
def test_leaving_before_the_first_token(stream, grace):
    with running_gateway(FakeEngine(first=60), GatewayConfig(headers_grace=grace)) as gateway:
        connection = connect(gateway, stream=stream, n=3)
        eventually(lambda: len(gateway.engine.running) == 3)
        connection.close()
        eventually(lambda: not gateway.engine.running)
        eventually(lambda: metric(gateway, "stream_disconnects_total", stage="waiting") == 1)
        assert gateway.gateway.admission.in_flight == 0


def test_leaving_a_stream():
    engine = FakeEngine(script=[("x", 65)] * 50, interval=0.05)
    with running_gateway(engine) as gateway:
        connection = connect(gateway, stream=True, max_tokens=50)
        read_until(connection, b"data: ")
        before = max(engine.steps.values())
        connection.close()
        eventually(lambda: not engine.running)
        assert max(engine.steps.values()) <= before + 2
        eventually(lambda: metric(gateway, "stream_disconnects_total", stage="decode") == 1)
        route = {"method": "POST", "route": "/v1/completions", "status": "499"}
        assert metric(gateway, "http_requests_total", **route) == 1


def test_leaving_a_completion_that_does_not_stream():
    engine = FakeEngine(script=[("x", 65)] * 50, interval=0.05)
    with running_gateway(engine) as gateway:
        connection = connect(gateway, max_tokens=50)
        eventually(lambda: engine.steps != {})
        before = max(engine.steps.values())
        connection.close()
        eventually(lambda: not engine.running)
        assert max(engine.steps.values()) <= before + 2


def test_leaving_in_the_middle_of_the_request():
    with running_gateway() as gateway:
        connection = connect(gateway)
        read_until(connection, b"Hello")
        connection.sendall(request_bytes({"prompt": "x"})[:-3])
        connection.close()
        route = {"method": "POST", "route": "/v1/completions", "status": "499"}
        eventually(lambda: metric(gateway, "http_requests_total", **route) > 0)
        assert metric(gateway, "http_requests_total", **route) == 1


def test_a_storm_of_clients_that_leave_leaves_nothing_behind():
    with running_gateway(FakeEngine(script=[("x", 65)] * 50, interval=0.02)) as gateway:
        connections = [connect(gateway, stream=i % 2 == 0, max_tokens=50) for i in range(60)]
        eventually(lambda: len(gateway.engine.requests) == 60)
        for connection in connections:
            connection.close()
        eventually(lambda: not gateway.engine.running)
        eventually(lambda: gateway.gateway.admission.in_flight == 0)
        eventually(lambda: metric(gateway, "http_requests_in_flight") == 0)
        assert len(gateway.engine.ended) == 60


def test_a_connection_serves_one_answer_after_the_other():
    with running_gateway() as gateway:
        connection = connect(gateway, stream=True)
        for _ in range(3):
            read_until(connection, b"0\r\n\r\n")
            connection.sendall(request_bytes({"prompt": "x", "stream": True}))
        read_until(connection, b"0\r\n\r\n")
        assert metric(gateway, "stream_disconnects_total", stage="decode") == 0
        assert len(gateway.engine.ended) == 4
