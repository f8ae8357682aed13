"""Reading a JSON request body within limits."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from models.contract.errors import AbortedError, InvalidRequestError


async def read_json(scope: Scope, receive: Receive, limit: int) -> dict[str, Any]:
    """The body's JSON object.

    Args:
        scope: the request.
        receive: its messages.
        limit: largest body in bytes.

    Raises:
        HTTPException: 415 for another content type, 413 for a body beyond the limit.
        InvalidRequestError: it is not a JSON object.
        AbortedError: the client left before the body was complete.
    """
    headers = Headers(scope=scope)
    kind = headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(
            415, f"Content-Type is {kind!r}. Send JSON with `Content-Type: application/json`."
        )
    declared = headers.get("content-length", "")
    _check_size(int(declared) if declared.isdecimal() else 0, limit)
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise AbortedError("The client left before its request was complete.")
        body += message.get("body", b"")
        _check_size(len(body), limit)
        more = message.get("more_body", False)
    return _parse(bytes(body))


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise HTTPException(
            413,
            f"The request body has {size} bytes or more, the limit is {limit}. Send shorter prompts.",
        )


def _parse(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError(
            f"The request body is not JSON: {error}.", remedy="Send one JSON object in UTF-8."
        ) from error
    if not isinstance(value, dict):
        raise InvalidRequestError(
            f"The request body is a JSON {type(value).__name__}.",
            remedy='Send one JSON object, e.g. {"model": "…", "prompt": "…"}.',
        )
    return value
