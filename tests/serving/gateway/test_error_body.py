from __future__ import annotations

import httpx
import pytest

from models.contract.errors import CODES, ContextLengthError, OverloadedError, TokenmillError
from serving.gateway.error_body import error_body, error_response
from tests.serving.gateway.fake_engine import running_gateway


@pytest.mark.parametrize("kind", CODES)
def test_every_error_takes_status_and_type_from_the_table(kind: type[TokenmillError]):
    error = kind("what is wrong.", remedy="What to do.")
    response = error_response(error)
    assert response.status_code == CODES[kind].http
    assert error_body(error)["error"]["type"] == CODES[kind].type
    assert error_body(error)["error"]["message"] == "what is wrong. What to do."


def test_field_and_code_are_told():
    error = error_body(ContextLengthError("too long.", field="prompt"))["error"]
    assert (error["param"], error["code"], error["type"]) == (
        "prompt",
        "context_length",
        "invalid_request_error",
    )


@pytest.mark.parametrize(("seconds", "header"), [(0.1, "1"), (1.0, "1"), (1.2, "2"), (60.0, "60")])
def test_retry_after_is_whole_seconds_and_never_zero(seconds, header):
    assert error_response(OverloadedError("full.", retry_after=seconds)).headers["retry-after"] == header


def test_an_unknown_path_names_those_there_are():
    with running_gateway() as gateway:
        response = httpx.get(f"{gateway.url}/v1/nothing")
    assert response.status_code == 404
    assert "'/v1/nothing'" in response.json()["error"]["message"]
    assert "POST /v1/completions" in response.json()["error"]["message"]


def test_a_wrong_method_names_the_right_one():
    with running_gateway() as gateway:
        response = httpx.get(f"{gateway.url}/v1/completions")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert "Use POST" in response.json()["error"]["message"]
