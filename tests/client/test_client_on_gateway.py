"""Both clients against the real gateway over a scripted engine."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest
from tokenmill_client import AsyncClient, Client, RateLimitedError, RequestRefusedError

from models.contract.errors import OverloadedError
from tests.serving.gateway.fake_engine import FakeEngine, eventually, running_gateway


def test_the_sync_client():
    with running_gateway() as gateway, Client(gateway.url) as client:
        answer = client.complete("Hi", max_tokens=5, logprobs=1, token_ids=True, echo=False)
        assert (answer.text, answer.finish_reason) == ("Hello", "length")
        assert answer.token_ids == tuple(b"Hello")
        assert answer.logprobs.tokens == tuple("Hello")
        assert answer.usage.total_tokens == 7
        assert "".join(chunk.text for chunk in client.stream([72, 105], echo=True)) == "HiHello, mill!"
        (model,) = client.models()
        assert (model.id, model.max_length) == ("mill", 64)
        health = client.health()
        assert (health.alive, health.ready, health.state) == (True, True, "ready")


def test_the_async_client():
    async def main(url: str) -> None:
        async with AsyncClient(url) as client:
            answers = await asyncio.gather(*(client.complete("Hi", max_tokens=5) for _ in range(8)))
            assert {answer.text for answer in answers} == {"Hello"}
            assert [model.id for model in await client.models()] == ["mill"]
            assert (await client.health()).ready

    with running_gateway() as gateway:
        asyncio.run(main(gateway.url))


def test_the_servers_message_reaches_the_caller():
    with running_gateway() as gateway, Client(gateway.url) as client:
        with pytest.raises(RequestRefusedError, match="`temperature` is 9") as caught:
            client.complete("x", temperature=9)
        assert caught.value.param == "temperature"


def test_an_overloaded_server_says_when_to_come_back():
    engine = FakeEngine(failure=OverloadedError("full.", retry_after=7))
    with running_gateway(engine) as gateway, Client(gateway.url, max_retries=0) as client:
        with pytest.raises(RateLimitedError) as caught:
            client.complete("x")
        assert caught.value.retry_after == 7


def test_leaving_a_stream_stops_the_engine():
    engine = FakeEngine(script=[("x", 65)] * 60, interval=0.05)
    with running_gateway(engine) as gateway, Client(gateway.url) as client:
        with closing(client.stream("x", max_tokens=60)) as stream:
            next(stream)
        eventually(lambda: not engine.running)
        assert max(engine.steps.values()) < 10


def test_health_of_a_server_that_starts():
    with running_gateway(opened=False) as gateway, Client(gateway.url) as client:
        health = client.health()
    assert (health.alive, health.ready, health.state) == (True, False, "starting")
