from __future__ import annotations

import asyncio
import socket

import pytest

from models.contract.errors import ConfigError
from serving.gateway.gateway import Gateway
from serving.gateway.gateway_server import GatewayServer
from tests.serving.gateway.fake_engine import MODEL, FakeEngine


def test_a_port_in_use_is_named_before_anything_starts():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"127\.0\.0\.1:{port}: Address already in use.*--port"
        ) as caught:
            GatewayServer(Gateway(), "127.0.0.1", port)
    assert caught.value.codes.exit == 2


@pytest.mark.parametrize(
    ("host", "port"), [("no.such.host.invalid", 0), ("203.0.113.1", 0), ("127.0.0.1", 70000)]
)
def test_an_address_that_cannot_be_bound_is_named(host, port):
    with pytest.raises(ConfigError, match=rf"cannot listen on {host}:{port}"):
        GatewayServer(Gateway(), host, port)


def test_a_free_port_is_told():
    async def main() -> str:
        server = GatewayServer(Gateway(), "127.0.0.1", 0)
        await server.start()
        await server.close()
        return server.url

    assert int(asyncio.run(main()).rpartition(":")[2]) > 0


def test_drain_ends_early_or_at_its_limit():
    async def main() -> tuple[bool, bool]:
        gateway = Gateway()
        gateway.open(FakeEngine(), MODEL)
        server = GatewayServer(gateway, "127.0.0.1", 0)
        await server.start()
        with gateway.admission.hold(1, 0):
            late = await server.drain(0.05)
        in_time = await server.drain(5.0)
        await server.close()
        return late, in_time

    assert asyncio.run(main()) == (False, True)
