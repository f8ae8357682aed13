"""Client of Tokenmill's OpenAI-compatible API: synchronous and asynchronous, streaming, typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill_client.client import Client
from tokenmill_client.completion import Completion, CompletionChunk, Health, Logprobs, ModelInfo, Usage
from tokenmill_client.completion_options import CompletionOptions
from tokenmill_client.errors import (
    ClientError,
    ConnectionFailedError,
    ConnectTimeoutError,
    FirstByteTimeoutError,
    IdleTimeoutError,
    InterruptedStreamError,
    NotFoundError,
    ProtocolError,
    RateLimitedError,
    RequestRefusedError,
    ResponseError,
    ServerFailedError,
    TimeLimitError,
    TotalTimeoutError,
    UnsendableRequestError,
)
from tokenmill_client.timeouts import Timeouts

if TYPE_CHECKING:
    from tokenmill_client.async_client import AsyncClient

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "Completion",
    "CompletionChunk",
    "CompletionOptions",
    "ConnectTimeoutError",
    "ConnectionFailedError",
    "FirstByteTimeoutError",
    "Health",
    "IdleTimeoutError",
    "InterruptedStreamError",
    "Logprobs",
    "ModelInfo",
    "NotFoundError",
    "ProtocolError",
    "RateLimitedError",
    "RequestRefusedError",
    "ResponseError",
    "ServerFailedError",
    "TimeLimitError",
    "Timeouts",
    "TotalTimeoutError",
    "UnsendableRequestError",
    "Usage",
]


def __getattr__(name: str) -> type[AsyncClient]:
    """Import `AsyncClient` on first use: asyncio is a good part of the time this package takes."""
    if name != "AsyncClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tokenmill_client.async_client import AsyncClient

    return AsyncClient
