from __future__ import annotations

import httpx
import pytest

from serving.gateway.gateway_config import GatewayConfig
from tests.serving.gateway.fake_engine import FakeEngine, running_gateway
from tests.serving.gateway.wire import connect, read_until

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def url():
    with running_gateway(FakeEngine(), GatewayConfig(max_body_bytes=1000)) as gateway:
        yield f"{gateway.url}/v1/completions"


def error_of(response: httpx.Response) -> dict:
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"prompt": "x"', b"\xff\xfe", b'{"prompt": NaN}', b"{'a': 1}"]
)
def test_what_is_not_json_is_refused(url, content):
    response = httpx.post(url, content=content, headers=JSON)
    assert response.status_code == 400
    assert "not JSON" in error_of(response)["message"]


@pytest.mark.parametrize("content", [b"[]", b'"x"', b"null", b"1"])
def test_json_that_is_no_object_is_refused(url, content):
    response = httpx.post(url, content=content, headers=JSON)
    assert response.status_code == 400
    assert '{"model"' in error_of(response)["message"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_refused_by_name(url, kind):
    response = httpx.post(url, content=b'{"prompt": "x"}', headers={"content-type": kind})
    assert response.status_code == 415
    assert f"Content-Type is {kind!r}" in error_of(response)["message"]


def test_a_charset_is_no_other_content_type(url):
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert httpx.post(url, content=b'{"prompt": "x"}', headers=headers).status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_the_limit_is_refused(url, chunked):
    content = b'{"prompt": "' + b"x" * 2000 + b'"}'
    pieces = iter([content[:900], content[900:]]) if chunked else content
    response = httpx.post(url, content=pieces, headers=JSON)
    assert response.status_code == 413
    assert "the limit is 1000" in error_of(response)["message"]


def test_a_deeply_nested_body_does_no_harm(url):
    response = httpx.post(url, content=b'{"prompt":' + b"[" * 400 + b"]" * 400 + b"}", headers=JSON)
    assert response.status_code == 400
    assert len(error_of(response)["message"]) < 500


def test_a_client_that_waits_for_100_continue_gets_it():
    with running_gateway() as gateway, connect(gateway) as connection:
        read_until(connection, b"Hello")
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: 15\r\nExpect: 100-continue\r\n\r\n")
        read_until(connection, b"100 Continue")
        connection.sendall(b'{"prompt": "x"}')
        assert b"HTTP/1.1 200" in read_until(connection, b"Hello")
