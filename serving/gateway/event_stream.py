"""EventStream: a response of server-sent events, as OpenAI's clients expect them."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from starlette.types import Send

from models.contract.errors import AbortedError

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """Writes events; the client may read as slowly as `write_timeout` allows.

    Args:
        send: the ASGI channel.
        write_timeout: seconds that one write may take.
    """

    def __init__(self, send: Send, write_timeout: float) -> None:
        self._send = send
        self._write_timeout = write_timeout

    async def open(self) -> None:
        """Commit to status 200."""
        await self._write({"type": "http.response.start", "status": 200, "headers": _HEADERS})

    async def data(self, value: dict[str, Any]) -> None:
        """Send a JSON value as one event."""
        await self._body(b"data: " + orjson.dumps(value) + b"\n\n")

    async def ping(self) -> None:
        """Send a comment, which clients ignore and proxies take as a sign of life."""
        await self._body(b": ping\n\n")

    async def done(self) -> None:
        """Send the terminator and end the response."""
        await self._body(b"data: [DONE]\n\n", more=False)

    async def _body(self, body: bytes, more: bool = True) -> None:
        await self._write({"type": "http.response.body", "body": body, "more_body": more})

    async def _write(self, message: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._write_timeout):
                await self._send(message)
        except TimeoutError as error:
            raise AbortedError(
                f"The client has not read its stream for {self._write_timeout:g} s."
            ) from error
