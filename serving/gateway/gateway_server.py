"""GatewayServer: the gateway on a socket, from the first connection to the end of a drain."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator

import uvicorn

from models.contract.errors import ConfigError
from serving.gateway.app import create_app
from serving.gateway.gateway import Gateway

_BACKLOG = 2048


class GatewayServer:
    """uvicorn in this process, on a socket bound before anything slow begins.

    Args:
        gateway: what to serve.
        host: address to listen on.
        port: port, 0 for a free one.

    Raises:
        ConfigError: the address cannot be bound.
    """

    def __init__(self, gateway: Gateway, host: str, port: int) -> None:
        self._gateway = gateway
        self._socket = _bind(host, port)
        self.url = _url(self._socket)
        config = uvicorn.Config(
            create_app(gateway),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
            backlog=_BACKLOG,
        )
        self._server = _Uvicorn(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Answer connections; tokens are refused until the gateway is open."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started:
            if self._task.done():
                await self._task
                return
            await asyncio.sleep(0.01)

    async def drain(self, seconds: float) -> bool:
        """Refuse new requests and let those in flight end.

        Returns:
            Whether all ended within `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._gateway.drain()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Close all connections and the socket."""
        self._server.should_exit = True
        if self._task is None:
            self._socket.close()
        else:
            await self._task


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers, which would end the process by the signal itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        raise ConfigError(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}.",
            field="port" if taken else "host",
            remedy="Stop what uses the port, or choose another `--port` (0 for a free one)."
            if taken
            else "Choose another `--host` or `--port`.",
        ) from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
