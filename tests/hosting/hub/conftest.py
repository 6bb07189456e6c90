"""A real host behind a real hub on loopback, and real clients of it; what the model and the tools do a test decides."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import socketio
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator, User
from sophon_hosting.host import Host
from sophon_hosting.hub.hub import Hub
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.hosting.features.declared_results import find_problems, find_result

PATIENCE_SECONDS = 60
"""A test that would hang fails instead; one that passes never waits for this."""

USERS = {
    "token-of-ada": User("ada"),
    "token-of-bob": User("bob"),
    "token-of-olga": User("olga", operator=True),
}


@dataclass
class Peer:
    """A client of python-socketio in one namespace, with everything that it was told, in order."""

    client: socketio.AsyncClient
    namespace: str
    heard: list[tuple[str, Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, name: str, data: Any = None) -> None:
        self.heard.append((name, data))
        self.news.set()

    async def ask(self, event: str, payload: Any = None) -> dict[str, Any]:
        """The acknowledgement of an event."""
        answer: dict[str, Any] = await self.client.call(
            event, payload, namespace=self.namespace, timeout=PATIENCE_SECONDS
        )
        if answer["ok"]:
            assert not find_problems(find_result(f"event {event}"), answer)
        return answer

    async def done(self, event: str, payload: Any = None) -> dict[str, Any]:
        """The acknowledgement of an event that succeeds."""
        answer = await self.ask(event, payload)
        assert answer["ok"], answer
        return answer

    async def refused(self, event: str, payload: Any = None) -> dict[str, Any]:
        """The error of an event that does not."""
        answer = await self.ask(event, payload)
        assert not answer["ok"], answer
        return answer["error"]

    def of(self, name: str, task_id: str | None = None) -> list[Any]:
        """What it was told under one name, of one task or of all."""
        return [data for event, data in self.heard if event == name and task_id in (None, data.get("task_id"))]

    async def until(self, *names: str, task_id: str | None = None, count: int = 1) -> Any:
        """Wait until it was told one of these so often; the last of them."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(found := [data for name in names for data in self.of(name, task_id)]) < count:
                self.news.clear()
                await self.news.wait()
        return found[-1]

    async def ended(self, task_id: str) -> str:
        """Wait for the outcome of a task; the text of its answer."""
        outcome = await self.until("task_completed", "task_failed", "task_cancelled", task_id=task_id)
        return outcome["text"]

    async def close(self) -> None:
        await self.client.disconnect()


@dataclass
class House:
    """What a test moves and looks at: the host, its hub and their address, the tools' doings.

    The model answers in capitals; `pay x` asks for approval first, `stall` runs a tool that waits for `release`,
    `tell` sends the pieces that `telling` gives.
    """

    clock: VirtualClock
    limits: HubLimits
    settings: dict[str, Any]
    users: dict[str, User]
    paid: list[str] = field(default_factory=list)
    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    telling: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    requests: list[str] = field(default_factory=list)
    refusals: list[Any] = field(default_factory=list)

    async def open(self) -> None:
        services = Services(
            models=FunctionModel(self.answer),
            tools=self.tools(),
            clock=self.clock,
            settings={"Planning": {"Mode": "Never"}, **self.settings},
            store=SqlHostStore("memory://", clock=self.clock),
        )
        self.host = Host(services, twelve(services), approvers={"olga"}, several_users=True)
        await self.stack.enter_async_context(self.host)
        hub_settings = HubSettings.model_validate(self.settings.get("Hub", {}))
        self.hub = Hub(self.host, TokenAuthenticator(self.users), settings=hub_settings, limits=self.limits)
        app = web.Application()
        self.hub.attach(app)
        await self.hub.start()
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        self.stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port: int = runner.addresses[0][1]
        self.http = await self.stack.enter_async_context(ClientSession())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tools(self) -> list[Any]:
        @tool(risk=Risk.CRITICAL)
        async def wreck(to: str) -> str:
            """Wreck something."""
            return f"wrecked {to}"

        @tool(risk=Risk.HIGH)
        async def pay(to: str) -> str:
            """Pay somebody."""
            self.paid.append(to)
            return f"paid {to}"

        @tool()
        async def stall(what: str) -> str:
            """Take long."""
            self.stalled.set()
            await self.release.wait()
            return what

        return [pay, stall, wreck]

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        self.requests.append(last.content)
        if last.role == "tool":
            return f"Done: {last.content}"
        verb, _, rest = last.content.partition(" ")
        if verb in ("pay", "wreck"):
            return ModelResponse("", [ToolCall("c", verb, {"to": rest})])
        if verb == "look":
            return ModelResponse("Let me look.", [ToolCall("c", "stall", {"what": rest})], reasoning="Where is it?")
        if verb == "stall":
            return ModelResponse("", [ToolCall("c", "stall", {"what": rest})])
        if verb == "tell":
            return await self._tell(request)
        return last.content.upper()

    async def _tell(self, request: ModelRequest) -> str:
        said = ""
        while (piece := await self.telling.get()) is not None:
            said += piece
            assert request.on_text is not None
            request.on_text(piece)
        return said

    async def peer(
        self,
        user: str = "ada",
        namespace: str = "/",
        *,
        transports: list[str] | None = None,
        auth: Any = None,
        **options: Any,
    ) -> Peer:
        """A client that has connected. Raises socketio's ConnectionError if it is refused, and `refusals` says why."""
        client = socketio.AsyncClient(reconnection=False, **options)
        self.stack.push_async_callback(client.disconnect)
        peer = Peer(client, namespace)
        client.on("*", peer.hear, namespace=namespace)
        client.on("connect_error", self.refusals.append, namespace=namespace)
        client.on("disconnect", lambda *_: peer.gone.set(), namespace=namespace)
        await client.connect(
            self.url,
            auth=auth if auth is not None else {"token": f"token-of-{user}"},
            namespaces=[namespace],
            transports=transports or ["websocket"],
            wait_timeout=PATIENCE_SECONDS,
        )
        return peer

    @asynccontextmanager
    async def raw(self, user: str | None = "ada", **options: Any) -> AsyncIterator["Raw"]:
        """A bare WebSocket on which Engine.IO has said hello; with a user, it has entered `/`."""
        address = f"{self.url}/socket.io/?EIO=4&transport=websocket"
        async with self.http.ws_connect(address, **options) as socket:
            raw = Raw(socket)
            assert (await raw.next()).startswith("0{")
            if user is not None:
                await raw.say(f'40{{"token":"token-of-{user}"}}')
                assert (await raw.next()).startswith('40{"sid"')
            yield raw

    async def settled(self, seen: Callable[[], bool]) -> None:
        """Let everything work until something is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not seen():
                await asyncio.sleep(0)


@dataclass
class Raw:
    """Engine.IO by hand."""

    socket: ClientWebSocketResponse

    async def say(self, text: str | bytes) -> None:
        await (self.socket.send_bytes(text) if isinstance(text, bytes) else self.socket.send_str(text))

    async def next(self) -> str:
        """The next packet; fails when the connection ends instead."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            message = await self.socket.receive()
        assert message.type is WSMsgType.TEXT, message
        return message.data

    async def end(self) -> int | None:
        """Read until the connection ends; the code it was closed with, None if it was cut."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (message := await self.socket.receive()).type in (WSMsgType.TEXT, WSMsgType.BINARY):
                pass
        return message.data if message.type is WSMsgType.CLOSE else None

    def write(self, data: bytes) -> None:
        """Bytes as they are, past everything that would make frames of them."""
        self._transport.write(data)

    def stop_reading(self) -> None:
        self._transport.pause_reading()

    def read_on(self) -> None:
        self._transport.resume_reading()

    def cut(self) -> None:
        """End it without a word."""
        self._transport.abort()

    @property
    def _transport(self) -> Any:
        assert self.socket._conn is not None
        return self.socket._conn.transport


@pytest.fixture
def limits() -> HubLimits:
    return HubLimits()


@pytest.fixture
def settings() -> dict[str, Any]:
    return {}


@pytest.fixture
def users() -> dict[str, User]:
    return USERS


@pytest.fixture
async def house(limits: HubLimits, settings: dict[str, Any], users: dict[str, User]) -> AsyncIterator[House]:
    house = House(VirtualClock(auto=False), limits, settings, users)
    async with house.stack:
        await house.open()
        try:
            yield house
        finally:
            house.release.set()
            house.telling.put_nowait(None)
