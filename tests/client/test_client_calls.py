"""Both clients against a server that says exactly what a test wants."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

import pytest
import tokenmill_client
from tokenmill_client import AsyncClient, Client, Timeouts

from tests.client.scripted_server import ANSWER, DONE, STREAM_HEAD, event, failure, scripted_server


class Sync:
    """The synchronous client behind the asynchronous one's face, so that tests run on both."""

    def __init__(self, url: str, **options):
        self._client = Client(url, **options)

    async def complete(self, prompt, **options):
        return self._client.complete(prompt, **options)

    async def stream(self, prompt, **options):
        for chunk in self._client.stream(prompt, **options):
            yield chunk


@pytest.fixture(params=[Sync, AsyncClient], ids=["sync", "async"])
def client(request):
    return request.param


def ask(client, url: str, *, timeouts=None, max_retries: int = 2, client_options=None, **options):
    request = {"prompt": "x", **options}

    async def main():
        made = client(url, timeouts=timeouts, max_retries=max_retries, **(client_options or {}))
        return await made.complete(**request)

    return asyncio.run(main())


def test_a_completion_is_its_stream_put_together(client):
    with scripted_server(ANSWER) as server:
        answer = ask(client, server.url, max_tokens=5, stop=("a", "b"), token_ids=True)
    assert (answer.text, answer.finish_reason, answer.model, answer.id) == ("Hello", "stop", "mill", "cmpl-1")
    assert answer.usage == tokenmill_client.Usage(1, 2, 3)
    ((line, body),) = server.requests
    assert line == "POST /v1/completions HTTP/1.1"
    assert body == {
        "prompt": "x",
        "max_tokens": 5,
        "stop": ["a", "b"],
        "return_token_ids": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_logprobs_and_ids_are_put_together(client):
    def part(token: str, offset: int) -> dict:
        return {
            "tokens": [token],
            "token_logprobs": [-0.5],
            "top_logprobs": [{token: -0.5}],
            "text_offset": [offset],
        }

    first = event("a", logprobs=part("a", 0), token_ids=[5])
    second = event("b", logprobs=part("b", 1), token_ids=[6], reason="length")
    with scripted_server([STREAM_HEAD, first, second, event(usage=True), DONE]) as server:
        answer = ask(client, server.url)
    assert answer.token_ids == (5, 6)
    assert answer.logprobs.tokens == ("a", "b")
    assert answer.logprobs.top_logprobs == ({"a": -0.5}, {"b": -0.5})
    assert answer.logprobs.text_offset == (0, 1)


def test_pieces_come_as_they_are_sent(client):
    async def main(url: str) -> list[float]:
        times = []
        async for chunk in client(url).stream("x"):
            times.append(time.monotonic())
            assert isinstance(chunk, tokenmill_client.CompletionChunk)
        return times

    with scripted_server([STREAM_HEAD, event("a"), 0.4, event("b", reason="stop"), DONE]) as server:
        first, second = asyncio.run(main(server.url))
    assert second - first > 0.3


def test_an_unknown_option_is_a_type_error(client):
    with pytest.raises(TypeError, match="'max_token' is not an option"):
        ask(client, "http://127.0.0.1:9", max_token=3)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, tokenmill_client.RequestRefusedError),
        (404, tokenmill_client.NotFoundError),
        (429, tokenmill_client.RateLimitedError),
        (500, tokenmill_client.ServerFailedError),
        (503, tokenmill_client.ServerFailedError),
    ],
)
def test_an_error_carries_what_the_server_says(client, status, kind):
    script = failure(
        status, "some_code", "what is wrong. What to do.", "X-Request-Id: req-7", "Retry-After: 3"
    )
    with scripted_server(script) as server, pytest.raises(kind) as caught:
        ask(client, server.url, max_retries=0)
    error = caught.value
    assert type(error) is kind
    assert str(error) == "what is wrong. What to do."
    assert (error.status, error.type, error.code, error.param) == (status, "t", "some_code", "p")
    assert (error.request_id, error.retry_after) == ("req-7", 3.0)


def test_an_error_without_the_usual_form_still_tells_its_status(client):
    script = [b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops"]
    failed = pytest.raises(tokenmill_client.ServerFailedError, match="502: oops")
    with scripted_server(script) as server, failed:
        ask(client, server.url, max_retries=0)


def test_an_overloaded_server_is_asked_again_when_it_says(client):
    with scripted_server(failure(429, "overloaded", "full", "Retry-After: 1"), ANSWER) as server:
        assert ask(client, server.url).text == "Hello"
    first, second = server.arrivals
    assert 1.0 <= second - first < 3.0


def test_what_breaks_before_the_first_token_is_asked_again(client):
    error = event("x").replace(b'"choices"', b'"error": {"message": "m"}, "choices"')
    scripts = [[], [STREAM_HEAD, b": ping\n\n"], [STREAM_HEAD, error, DONE], ANSWER]
    with scripted_server(*scripts) as server:
        assert ask(client, server.url, max_retries=3).text == "Hello"
    assert len(server.requests) == 4


def test_nothing_is_asked_again_after_the_first_token(client):
    with scripted_server([STREAM_HEAD, event("a")], ANSWER) as server:
        with pytest.raises(tokenmill_client.InterruptedStreamError):
            ask(client, server.url)
        assert len(server.requests) == 1


def test_a_refused_request_is_not_repeated(client):
    with scripted_server(failure(400, "invalid_request", "bad"), ANSWER) as server:
        with pytest.raises(tokenmill_client.RequestRefusedError):
            ask(client, server.url)
        assert len(server.requests) == 1


def test_retries_end(client):
    with scripted_server(*[failure(503, "unavailable", "draining", "Retry-After: 0")] * 5) as server:
        with pytest.raises(tokenmill_client.ServerFailedError, match="draining"):
            ask(client, server.url, max_retries=2)
        assert len(server.requests) == 3


def test_an_error_within_a_stream_is_raised(client):
    error = b'data: {"error": {"message": "a step failed.", "type": "server_error", "code": "engine"}}\n\n'
    failed = pytest.raises(tokenmill_client.ServerFailedError, match="a step failed")
    with scripted_server([STREAM_HEAD, event("a"), error, DONE]) as server, failed as caught:
        ask(client, server.url)
    assert caught.value.code == "engine"
    assert caught.value.status is None


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: []\n\n", b'data: {"choices": [{}]}\n\n'])
def test_an_event_of_another_form_is_a_protocol_error(client, data):
    with scripted_server([STREAM_HEAD, data]) as server, pytest.raises(tokenmill_client.ProtocolError):
        ask(client, server.url)


def test_nothing_listening_is_a_connection_error(client):
    with pytest.raises(tokenmill_client.ConnectionFailedError, match="No connection to http://127"):
        ask(client, "http://127.0.0.1:9", max_retries=0)


def test_closing_a_stream_closes_the_connection(client):
    async def main(url: str) -> None:
        async with aclosing(client(url).stream("x")) as chunks:
            async for _ in chunks:
                break

    script = [STREAM_HEAD, event("a"), *[0.05, event("b")] * 100]
    with scripted_server(script) as server:
        started = time.monotonic()
        asyncio.run(main(server.url))
    assert time.monotonic() - started < 2


LIMITS = [
    (Timeouts(first_byte=0.3), [5.0], tokenmill_client.FirstByteTimeoutError),
    (Timeouts(first_byte=0.3), [STREAM_HEAD, event("a"), 0.6, *ANSWER[1:]], None),
    (Timeouts(idle=0.3), [STREAM_HEAD, event("a"), 5.0], tokenmill_client.IdleTimeoutError),
    (Timeouts(idle=0.5), [STREAM_HEAD, *[0.25, b": ping\n\n"] * 4, *ANSWER[1:]], None),
    (Timeouts(idle=0.3), [0.6, *ANSWER], None),
    (Timeouts(total=0.5), [STREAM_HEAD, *[0.1, b": ping\n\n"] * 50], tokenmill_client.TotalTimeoutError),
    (Timeouts(total=0.4), [STREAM_HEAD, event("a"), 5.0], tokenmill_client.TotalTimeoutError),
    (Timeouts(total=0.4), [5.0], tokenmill_client.TotalTimeoutError),
]


@pytest.mark.parametrize(("timeouts", "script", "kind"), LIMITS)
def test_each_limit_is_its_own(client, timeouts, script, kind):
    started = time.monotonic()
    with scripted_server(script) as server:
        if kind is None:
            assert ask(client, server.url, timeouts=timeouts).text.endswith("Hello")
        else:
            with pytest.raises(kind):
                ask(client, server.url, timeouts=timeouts)
            assert len(server.requests) == 1
    assert time.monotonic() - started < 4


def test_a_connection_that_does_not_come_is_a_connect_timeout(client):
    # An address set aside for documentation: packets to it go nowhere.
    with pytest.raises((tokenmill_client.ConnectTimeoutError, tokenmill_client.ConnectionFailedError)):
        ask(client, "http://192.0.2.1:9", timeouts=Timeouts(connect=0.2), max_retries=0)


def test_a_pause_does_not_go_beyond_the_end_of_the_call(client):
    with scripted_server(failure(429, "overloaded", "full", "Retry-After: 30"), ANSWER) as server:
        started = time.monotonic()
        with pytest.raises(tokenmill_client.RateLimitedError):
            ask(client, server.url, timeouts=Timeouts(total=2.0))
        assert time.monotonic() - started < 2
