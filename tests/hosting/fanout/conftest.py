"""Pairs of linked hosts over each fan-out."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from sophon_hosting.fanout.connected_fanout import ConnectedFanout
from sophon_hosting.fanout.contract import HintsLost, HostFanout, HostMessage, WatchStarted
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from tests.hosting.fanout.servers import WAIT_SECONDS, Proxy, require_postgres, require_redis

BACKENDS = ("local", "redis", "postgres")


class Listening:
    """Notes what a fan-out tells."""

    def __init__(self, fanout: HostFanout) -> None:
        self.fanout = fanout
        self.everything: list[HostMessage] = []
        fanout.subscribe(self.everything.append)

    @property
    def messages(self) -> list[HostMessage]:
        return [each for each in self.everything if not isinstance(each, WatchStarted | HintsLost)]

    async def until(self, is_true: Callable[[], Any]) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while not is_true():
                await asyncio.sleep(0.005)

    async def until_received(self, count: int) -> list[HostMessage]:
        await self.until(lambda: len(self.messages) >= count)
        return self.messages

    async def watch(self, session_id: str) -> None:
        self.fanout.watch_session(session_id)
        await self.until(lambda: WatchStarted(session_id) in self.everything)


class Network:
    """Makes hosts that reach each other."""

    def __init__(self, backend: str, url: str) -> None:
        self.backend, self.url = backend, url
        self.prefix = f"t{secrets.token_hex(4)}"
        self._local = LocalNetwork()
        self._stack = AsyncExitStack()

    def make(self, url: str | None = None) -> HostFanout:
        if self.backend == "local":
            return LocalFanout(self._local)
        if self.backend == "redis":
            from sophon_hosting.fanout.redis_pubsub import RedisTransport

            return ConnectedFanout(RedisTransport(url or self.url, self.prefix))
        from sophon_hosting.fanout.postgres_notify import PostgresTransport

        return ConnectedFanout(PostgresTransport(url or self.url, self.prefix))

    async def join(self, url: str | None = None) -> Listening:
        fanout = self.make(url)
        listening = Listening(fanout)
        await fanout.open()
        self._stack.push_async_callback(fanout.close)
        await listening.until(lambda: fanout.is_connected)
        return listening

    async def send_raw(self, payload: bytes) -> None:
        """Send what no host has encoded, as somebody else on the server would."""
        fanout = self.make()
        assert isinstance(fanout, ConnectedFanout)
        transport = fanout._transport
        await transport.open(lambda _: None, lambda _: None)
        await transport.send([(None, payload)])
        await transport.close()

    async def proxy(self) -> Proxy:
        proxy = Proxy(self.url)
        await proxy.start()
        self._stack.push_async_callback(proxy.cut)
        return proxy

    async def close(self) -> None:
        await self._stack.aclose()


async def make_network(backend: str) -> Network:
    url = await require_redis() if backend == "redis" else require_postgres() if backend == "postgres" else ""
    return Network(backend, url)


@pytest.fixture(params=BACKENDS)
async def network(request: pytest.FixtureRequest) -> AsyncIterator[Network]:
    network = await make_network(request.param)
    yield network
    await network.close()


@pytest.fixture(params=BACKENDS[1:])
async def server_network(request: pytest.FixtureRequest) -> AsyncIterator[Network]:
    """The fan-outs over a server."""
    network = await make_network(request.param)
    yield network
    await network.close()
