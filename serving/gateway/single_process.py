"""All three tiers in one process: model, engine and gateway, from start to the end of the drain."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.contract.errors import TokenmillError
from monitoring.metrics_registry import MetricsRegistry
from serving.gateway.gateway import Gateway
from serving.gateway.gateway_server import GatewayServer
from serving.gateway.process_log import native_lines_as_records

if TYPE_CHECKING:
    from serving.gateway.local_backend import LocalBackend

logger = logging.getLogger(__name__)

PUT_AWAY_SECONDS = 1.0
"""How long open connections or a running step may hold up the end after the drain."""


async def serve_package(
    package: Path,
    host: str,
    port: int,
    drain_seconds: float,
    *,
    prepare: Callable[[], None],
    on_ready: Callable[[str, str], None],
) -> None:
    """Serve a package until SIGTERM or SIGINT, then drain.

    The socket answers from the beginning: `/healthz` while the package loads, tokens after it. A
    signal while the package loads ends the process at once, there is nothing to drain; a second
    signal during the drain cuts it short. Neither a step nor a compilation can be interrupted: where
    one goes on after the drain, the process ends with 0 without waiting for it.

    Args:
        package: version directory.
        host: address to listen on.
        port: port, 0 for a free one.
        drain_seconds: how long answers in flight may go on after the signal.
        prepare: called on the thread that loads, before anything imports TensorFlow.
        on_ready: called with the URL and the model's name when requests are taken; `/readyz` says
            so after the warm-up. XLA buckets are compiled behind it.

    Raises:
        ConfigError: the address cannot be used.
        PackageError: the package cannot be loaded.
    """
    gateway = Gateway(registry=MetricsRegistry())
    server = GatewayServer(gateway, host, port)
    signals = _Signals()
    await server.start()
    try:
        started = time.monotonic()
        backend = await _load(package, gateway.registry, prepare)
        await backend.engine.start()
        gateway.open(backend.engine, backend.model, lambda: backend.runner.warmup.progress)
        signals.loading = False
        seconds = round(time.monotonic() - started, 1)
        logger.info("ready", extra={"url": server.url, "model": backend.model.name, "seconds": seconds})
        on_ready(server.url, backend.model.name)
        warm_up = asyncio.create_task(_warm_up(gateway, backend))
        await signals.wait()
        warm_up.cancel()
        backend.runner.warmup.stop(wait=False)
        await _drain(server, signals, drain_seconds)
        if not await signals.unless_signalled(_put_away(server, backend), PUT_AWAY_SECONDS):
            logger.info("ended without waiting for a step or a compilation")
            _end_process()
    finally:
        await server.close()


async def _load(package: Path, registry: MetricsRegistry, prepare: Callable[[], None]) -> LocalBackend:
    def load() -> LocalBackend:
        with native_lines_as_records():
            prepare()
            # Imported here, for it brings in TensorFlow: the socket answers meanwhile.
            from serving.gateway.local_backend import LocalBackend

            return LocalBackend.load(package, registry)

    logger.info("loading", extra={"package": str(package)})
    return await asyncio.to_thread(load)


async def _warm_up(gateway: Gateway, backend: LocalBackend) -> None:
    started = time.monotonic()
    try:
        await backend.warm_up()
    except TokenmillError:
        logger.exception("warm-up failed: the server does not become ready")
        return
    gateway.warmed()
    backend.runner.warmup.start()
    logger.info("warm", extra={"seconds": round(time.monotonic() - started, 1)})


async def _drain(server: GatewayServer, signals: _Signals, seconds: float) -> None:
    logger.info("draining", extra={"seconds": seconds})
    complete = await signals.unless_signalled(server.drain(seconds))
    logger.info("drained" if complete else "drain cut short")


async def _put_away(server: GatewayServer, backend: LocalBackend) -> bool:
    await backend.engine.stop(0.0)
    await server.close()
    if backend.runner.warmup.running:
        # It uses the model, which so cannot be closed, for tens of seconds.
        return False
    await asyncio.to_thread(backend.runner.close)
    return True


def _end_process() -> None:
    """End without waiting for any thread, and without taking down what such a thread still uses."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


class _Signals:
    """SIGTERM and SIGINT as something to wait for; none is lost between two waits."""

    def __init__(self) -> None:
        self.loading = True
        self._arrived: asyncio.Queue[None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._note)

    async def wait(self) -> None:
        """Wait for the next signal."""
        await self._arrived.get()

    async def unless_signalled(self, work: Coroutine[Any, Any, bool], seconds: float | None = None) -> bool:
        """Run work until the next signal, at most so many seconds.

        Returns:
            What it returned; False also if it had to be cancelled.
        """
        task, again = asyncio.ensure_future(work), asyncio.ensure_future(self.wait())
        await asyncio.wait({task, again}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        again.cancel()
        if not task.done():
            task.cancel()
            return False
        return task.result()

    def _note(self) -> None:
        if self.loading:
            # The thread that loads cannot be interrupted, and nothing needs to be put away.
            logger.info("stopped while loading")
            _end_process()
        self._arrived.put_nowait(None)
