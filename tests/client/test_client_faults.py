"""Both clients where the request cannot be sent or what answers is not the server they know."""

from __future__ import annotations

import httpx
import pytest
import tokenmill_client
from tokenmill_client.deadline import Deadline
from tokenmill_client.exchange import Exchange
from tokenmill_client.retries import Retries

from tests.client.scripted_server import ANSWER, DONE, STREAM_HEAD, scripted_server
from tests.client.test_client_calls import ask, client

__all__ = ["client"]

UNSENDABLE = [
    ("temperature", {"temperature": float("nan")}),
    ("top_p", {"top_p": float("inf")}),
    ("stop", {"stop": ["a", "\ud800"]}),
    ("stop", {"stop": 3}),
    ("user", {"user": b"me"}),
    ("prompt", {"prompt": "a\ud800"}),
    ("prompt", {"prompt": None}),
    ("prompt", {"prompt": [object()]}),
]


@pytest.mark.parametrize(("field", "options"), UNSENDABLE)
def test_what_json_cannot_express_is_named_and_not_sent(client, field, options):
    with scripted_server(ANSWER) as server:
        with pytest.raises(tokenmill_client.UnsendableRequestError, match=f"^`{field}` cannot be") as caught:
            ask(client, server.url, **options)
        assert server.requests == []
    assert caught.value.param == field


def test_a_header_that_http_forbids_is_not_sent(client):
    with scripted_server(ANSWER) as server:
        with pytest.raises(tokenmill_client.UnsendableRequestError):
            ask(client, server.url, client_options={"headers": {"X-Name": "a\nb"}})
        assert [line for line, _ in server.requests if line] == []


def response(status: str, *headers: str, body: bytes = b"") -> list[bytes]:
    lines = (f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close", "", "")
    return ["\r\n".join(lines).encode() + body]


STRANGERS = [
    response("200 OK", "Content-Type: text/html", body=b"<html>Log in</html>"),
    response("302 Found", "Location: http://127.0.0.1:9/login"),
    [b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"],
    response("200 OK", "Content-Type: application/json", body=b'{"choices": []}'),
    response("200 OK", body=b"data: [DONE]\n\n"),
    response("200 OK", "Content-Type: text/event-stream", "Content-Encoding: gzip", body=b"no gzip"),
    [STREAM_HEAD, DONE],
    [STREAM_HEAD, b'data: {"id": "1", "model": "m", "choices": [{"text": null}]}\n\n', DONE],
]


@pytest.mark.parametrize("script", STRANGERS)
def test_what_is_not_this_server_is_a_protocol_error_at_once(client, script):
    with scripted_server(script, ANSWER) as server:
        with pytest.raises(tokenmill_client.ProtocolError):
            ask(client, server.url)
        assert len(server.requests) == 1


def test_the_message_tells_what_answered_instead(client):
    told = "HTTP 200 with text/html instead of text/event-stream: it is not a server"
    with scripted_server(STRANGERS[0]) as server, pytest.raises(tokenmill_client.ProtocolError, match=told):
        ask(client, server.url)


@pytest.mark.parametrize("name", ["a" * 64 + ".invalid", "a..b", "127.0.0.1:99999"])
def test_an_address_that_no_socket_takes_is_refused_when_the_client_is_made(client, name):
    with pytest.raises(ValueError, match=f"'http://{name}' is no URL"):
        client(f"http://{name}")


@pytest.mark.parametrize(
    "fault",
    [
        httpx.DecodingError("x"),
        httpx.TooManyRedirects("x"),
        httpx.InvalidURL("x"),
        httpx.CookieConflict("x"),
        httpx.StreamConsumed(),
        httpx.ProxyError("x"),
        httpx.ReadError("x"),
        httpx.PoolTimeout("x"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_every_exception_of_httpx_is_turned_into_a_client_error(fault):
    exchange = Exchange(tokenmill_client.Timeouts(), Deadline(None))
    with pytest.raises(tokenmill_client.ClientError) as caught, exchange.errors():
        raise fault
    assert caught.value.__cause__ is fault


def overloaded(seconds: float) -> tokenmill_client.RateLimitedError:
    return tokenmill_client.RateLimitedError("full", status=429, retry_after=seconds)


@pytest.mark.parametrize("seconds", [0.0, 1.0, 31.0, 60.0])
def test_a_pause_is_as_long_as_the_server_advised(seconds):
    assert Retries(2, Deadline(None)).pause(overloaded(seconds)) == seconds


@pytest.mark.parametrize("seconds", [60.5, 3600.0, float("inf")])
def test_longer_advice_ends_the_call_rather_than_coming_back_early(seconds):
    error = overloaded(seconds)
    with pytest.raises(tokenmill_client.RateLimitedError) as caught:
        Retries(2, Deadline(None)).pause(error)
    assert caught.value is error
