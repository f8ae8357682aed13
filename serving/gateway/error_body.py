"""Errors as the OpenAI API words them; the one place that turns exceptions into responses."""

from __future__ import annotations

import math
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from models.contract.errors import CODES, OverloadedError, TokenmillError

_ROUTES = "POST /v1/completions, GET /v1/models, /healthz, /readyz and /metrics"


def error_body(error: TokenmillError) -> dict[str, Any]:
    """`{"error": {message, type, param, code}}` of an expected error."""
    return _body(str(error), error.codes.type, error.field, error.code)


def internal_error_body(request_id: str) -> dict[str, Any]:
    """The body for an error nobody foresaw: what happened stays in the server's log."""
    return _body(
        f"The server failed unexpectedly. Its log explains request {request_id}.",
        CODES[TokenmillError].type,
        None,
        "internal",
    )


def error_response(error: TokenmillError) -> Response:
    """The response for an expected error, with Retry-After where a retry makes sense."""
    headers = {}
    if isinstance(error, OverloadedError):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    return _response(error_body(error), error.codes.http, headers)


def internal_error_response(request_id: str) -> Response:
    """The response for an error nobody foresaw."""
    return _response(internal_error_body(request_id), CODES[TokenmillError].http, {})


async def http_error(request: Request, error: Exception) -> Response:
    """Starlette's handler for errors of the HTTP protocol itself: path, method, body."""
    assert isinstance(error, HTTPException)
    messages = {
        404: f"No resource {request.url.path!r}. There are {_ROUTES}.",
        405: f"{request.method} is not allowed on {request.url.path!r}.",
    }
    allow = dict(error.headers or {}).get("Allow")
    hint = f" Use {allow}." if allow else ""
    message = messages.get(error.status_code, error.detail) + hint
    code = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large", 415: "unsupported_media_type"}
    body = _body(message, "invalid_request_error", None, code.get(error.status_code, "http_error"))
    return _response(body, error.status_code, dict(error.headers or {}))


def _body(message: str, kind: str, param: str | None, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _response(body: dict[str, Any], status: int, headers: dict[str, str]) -> Response:
    return Response(orjson.dumps(body), status, headers, media_type="application/json")
