"""A server that answers each connection with the next of some scripts, byte for byte."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

Script = Sequence[bytes | float]
"""Bytes to send and seconds to wait, in order; then the connection is closed."""

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def event(text: str = "", *, reason: str | None = None, usage: bool = False, **choice: object) -> bytes:
    """One chunk of a completion; with `usage` the last one."""
    entry = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, **choice}
    totals = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    value = {
        "id": "cmpl-1",
        "model": "mill",
        "choices": [] if usage else [entry],
        "usage": totals if usage else None,
    }
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


ANSWER: Script = [STREAM_HEAD, event("Hel"), event("lo", reason="stop"), event(usage=True), DONE]


def failure(status: int, code: str, message: str, *headers: str) -> Script:
    """A response of status 4xx or 5xx."""
    body = json.dumps({"error": {"message": message, "type": "t", "param": "p", "code": code}}).encode()
    head = [
        f"HTTP/1.1 {status} X",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return ["\r\n".join((*head, "Connection: close", "", "")).encode() + body]


@dataclass
class ScriptedServer:
    url: str
    requests: list[tuple[str, dict]] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)


@contextmanager
def scripted_server(*scripts: Script) -> Iterator[ScriptedServer]:
    """Serve; connections beyond the scripts are closed without a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = ScriptedServer(f"http://127.0.0.1:{listener.getsockname()[1]}")

    def answer(connection: socket.socket, script: Script) -> None:
        with connection:
            try:
                server.requests.append(_read_request(connection))
                for part in script:
                    if isinstance(part, bytes):
                        connection.sendall(part)
                    else:
                        time.sleep(part)
            except OSError:
                return  # The client has left.

    def accept() -> None:
        waiting = iter(scripts)
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            server.arrivals.append(time.monotonic())
            threading.Thread(target=answer, args=(connection, next(waiting, ())), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _read_request(connection: socket.socket) -> tuple[str, dict]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    lengths = [int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length")]
    while lengths and len(body) < lengths[0]:
        body += connection.recv(65536)
    return lines[0], json.loads(body) if body else {}
