"""HTTP by hand, to see and to do what clients hide."""

from __future__ import annotations

import json
import socket
import time

from tests.serving.gateway.fake_engine import RunningGateway


def request_bytes(
    body: object, path: str = "/v1/completions", content_type: str = "application/json"
) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1",
        "Host: x",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(content)}",
    )
    return "\r\n".join((*head, "", "")).encode() + content


def connect(gateway: RunningGateway, **body: object) -> socket.socket:
    """A connection on which a completion has been asked for."""
    connection = socket.create_connection(gateway.address, timeout=10)
    connection.sendall(request_bytes({"prompt": "x", **body}))
    return connection


def read_until(connection: socket.socket, mark: bytes, seconds: float = 10.0) -> bytes:
    """Everything up to and with `mark`."""
    data = b""
    end = time.monotonic() + seconds
    while mark not in data:
        assert time.monotonic() < end, data
        piece = connection.recv(65536)
        assert piece, f"closed after {data!r}"
        data += piece
    return data


def events(data: bytes) -> list[str]:
    """The data of the server-sent events in a chunked response."""
    return [line.removeprefix("data: ") for line in data.decode().splitlines() if line.startswith("data: ")]
