"""Servers that keep a connection busy without an answer: comments, blank bytes, empty deltas; over real HTTP."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from sophon import Services
from sophon.errors import ModelTimeout
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.testing import VirtualClock
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve

DRIPS = {
    "comments": b": keep-alive\n\n",
    "blank lines": b"\n",
    "empty deltas": b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{}}]}\n\n',
    "roles": b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n',
}


class Drip:
    """Lets a server send a piece whenever the clock is put forward, until its client has hung up."""

    def __init__(self, server: Any, piece: bytes, clock: VirtualClock) -> None:
        self.server, self.piece, self.clock = server, piece, clock
        self.connections = 0
        self.closed = 0
        self.on_connect: Callable[[], None] = lambda: None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        dialect = self.server.dialect
        response, stream = web.StreamResponse(headers={"Content-Type": dialect.stream_type}), dialect.stream()
        await response.prepare(request)
        self.connections += 1
        self.on_connect()
        try:
            while True:
                await response.write(stream.feed(self.piece) or b"\n")
                await self.clock.sleep(1)
        finally:
            self.closed += 1

    async def all_closed(self) -> None:
        """Return when every connection was closed by its client."""
        async with asyncio.timeout(30):
            while self.closed < self.connections:
                await self.clock.sleep(1)


@pytest.mark.parametrize("drip", DRIPS.values(), ids=DRIPS.keys())
async def test_a_dripping_stream_ends_and_its_connection_is_closed(
    adapters: Any, server: Any, kit: Any, drip: bytes
) -> None:
    clock = VirtualClock()
    model = await adapters.at(server, timeout_seconds=600)
    dripping = Drip(server, drip, clock)
    server.script += [dripping.answer] * 4
    provider = Provider("p1", [model], keys=ApiKeyPool(("sk-one",), clock), idle_timeout_seconds=20)
    gateway = ModelGateway([provider], clock=clock, options=GatewayOptions(max_retries=1))
    with pytest.raises(ModelTimeout, match="wrote nothing for 20 s"):
        await gateway.call(kit.request(model, on_text=lambda _: None), gateway.candidates())
    assert len(server.seen) == 2
    await dripping.all_closed()


@pytest.mark.parametrize("drip", DRIPS.values(), ids=DRIPS.keys())
async def test_a_stream_that_never_says_anything_has_not_begun_after_a_minute(
    adapters: Any, serve: Any, kit: Any, drip: bytes
) -> None:
    clock, slow, sound = VirtualClock(), await serve(), await serve()
    first, second = await adapters.at(slow, timeout_seconds=600), await adapters.at(sound)
    slow.script.append(Drip(slow, drip, clock).answer)
    sound.streams("Good day", kit.stop)
    providers = [
        Provider(f"p{place}", [model], place, keys=ApiKeyPool(("sk-one",), clock))
        for place, model in enumerate((first, second))
    ]
    gateway = ModelGateway(providers, clock=clock)
    response = await gateway.call(kit.request(first, on_text=lambda _: None), gateway.candidates())
    assert response.text == "Good day"
    assert (len(slow.seen), clock.monotonic()) == (1, pytest.approx(60, abs=2))


async def test_three_dripping_streams_do_not_keep_a_fourth_message_waiting(serve: Any, adapters: Any, kit: Any) -> None:
    clock, server = VirtualClock(), await serve()
    model = await adapters.at(server, timeout_seconds=600)
    dripping = Drip(server, DRIPS["comments"], clock)

    async def answer(request: web.Request) -> web.StreamResponse:
        if "fourth" in server.seen[-1].raw.decode():
            server.streams("Good day", kit.stop)
            return await server.script.pop(0)(request)
        return await dripping.answer(request)

    server.script += [answer] * 30
    provider = Provider("p1", [model], keys=ApiKeyPool(("sk-one",), clock))
    services = Services(
        models=[provider],
        clock=clock,
        settings={"AgentExecution": {"MaxConcurrentTasks": 3, "Titles": False}, "Planning": {"Mode": "Never"}},
        store=SqlHostStore("memory://", clock=clock),
    )
    host = Host(services, twelve(services))
    dripped, answered = asyncio.Event(), asyncio.Event()
    dripping.on_connect = lambda: dripped.set() if dripping.connections == 3 else None
    host.event_bus.subscribe_all(lambda event: answered.set() if event.name == "task_completed" else None)
    await host.start()
    try:
        for number in range(3):
            await host.accept(RunRequest(text=f"message {number}", session_id=f"s{number}", owner="ada", stream=True))
        await asyncio.wait_for(dripped.wait(), 30)
        receipt = await host.accept(RunRequest(text="the fourth", session_id="s4", owner="ada", stream=True))
        await asyncio.wait_for(answered.wait(), 30)
        # Two attempts of ten minutes; Budget.Turn.ActiveTime (half an hour) is what would end them otherwise.
        assert clock.monotonic() < 1800
        assert (await services.store.runs.get(receipt.task_id)).status == "completed"
    finally:
        await host.shutdown(grace_seconds=0)
