"""Served hosts on one PostgreSQL: hubs that run nothing, and one that runs the turns; a real client at each."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import socketio

from sophon import ModelRequest, ModelResponse, Services
from sophon.settings import load_settings
from sophon.testing import FunctionModel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.factory import host_store_from_url
from tests import postgres
from tests.hosting.fanout.servers import Proxy, require_postgres, require_redis

PATIENCE_SECONDS = 60
WORDS = [f"word{number} " for number in range(60)]
ANSWER = "".join(WORDS)


class Client:
    """A client of one hub, which shows what it receives as a page would."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.text = ""
        self._epoch: tuple[str, int] | None = None
        self._news = asyncio.Event()
        self.socket = self._make_socket()

    def _make_socket(self) -> socketio.AsyncClient:
        socket = socketio.AsyncClient(reconnection=False)
        socket.on("*", self._receive)
        return socket

    async def move(self, url: str) -> None:
        """Connect to another hub once this one has closed the connection."""
        await self.socket.wait()
        self.url, self.socket = url, self._make_socket()
        await self.socket.connect(url, transports=["websocket"])

    def _receive(self, name: str, data: Any = None) -> None:
        self.received.append((name, data))
        if name == "stream_reset" or (name == "stream_chunk" and (data["task_id"], data["epoch"]) != self._epoch):
            self.text, self._epoch = "", (data["task_id"], data["epoch"])
        if name == "stream_chunk":
            assert data["offset"] == len(self.text), "a gap or a repetition"
            self.text += data["text"]
        elif name == "task_completed":
            self.text = data["text"]
        self._news.set()

    async def ask(self, event: str, **payload: Any) -> dict[str, Any]:
        answer = await self.socket.call(event, payload, timeout=PATIENCE_SECONDS)
        assert answer["ok"], answer
        return answer

    async def join(self, session_id: str, last_seq: int = 0) -> None:
        joined = await self.ask("join_session", session_id=session_id, last_seq=last_seq)
        for each in joined["events"]:
            self._receive(each["event"], each["data"])

    @property
    def streamed(self) -> list[str]:
        """The texts that were streamed, in their order: each begins with a reset or another epoch."""
        texts, epoch = [""], None
        for name, data in self.received:
            if name not in ("stream_reset", "stream_chunk"):
                continue
            if name == "stream_reset" or (data["task_id"], data["epoch"]) != epoch:
                texts.append("")
                epoch = (data["task_id"], data["epoch"])
            if name == "stream_chunk":
                assert data["offset"] == len(texts[-1]), "a gap or a repetition"
                texts[-1] += data["text"]
        return [each for each in texts if each]

    @property
    def durable(self) -> list[tuple[int, str]]:
        return [(data["seq"], name) for name, data in self.received if "seq" in data]

    async def until(self, is_true: Callable[[], Any]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_true():
                self._news.clear()
                await self._news.wait()

    async def until_event(self, name: str) -> dict[str, Any]:
        await self.until(lambda: any(each == name for each, _ in self.received))
        return next(data for each, data in self.received if each == name)


class Site:
    """Served hosts, and the model that their turns ask: it streams word by word, as fast as `let_on` says."""

    def __init__(self, folder: Path, fanout_url: str) -> None:
        self._folder, self._fanout_url = folder, fanout_url
        self._stack = AsyncExitStack()
        self._gate = asyncio.Semaphore(0)
        self.servers: list[HostServer] = []
        self.ran: list[str] = []

    def let_on(self, words: int) -> None:
        """Let the model stream so many more words."""
        for _ in range(words):
            self._gate.release()

    async def serve(self, name: str, *, runs_turns: bool) -> str:
        """Start a host; return its URL."""

        async def answer(request: ModelRequest) -> ModelResponse:
            self.ran.append(name)
            for word in WORDS:
                await self._gate.acquire()
                if request.on_text is not None:
                    request.on_text(word)
            return ModelResponse(ANSWER)

        settings = load_settings(
            folder=self._folder,
            environment={},
            overrides={
                "Store": {"Url": postgres.MIGRATED},
                "Queue": {"Backend": "Postgres"},
                "Hub": {"OpenAiApi": True, **({"FanoutUrl": self._fanout_url} if self._fanout_url else {})},
                "Planning": {"Mode": "Never"},
                "AgentExecution": {"TitleFromMessages": 100},
            },
        )
        model = FunctionModel(answer)
        model.info = replace(model.info, streaming=True)
        store = host_store_from_url(postgres.MIGRATED, folder=self._folder)
        services = Services(settings=settings, folder=self._folder, models=[model], store=store)
        server = HostServer(services, {}, runs_turns=runs_turns)
        address = bind_address("127.0.0.1", 0)
        await server.start(address)
        self.servers.append(server)
        self._stack.push_async_callback(self.drain, server, 1)
        await _until(lambda: server.host.fanout.is_connected)
        return address.url

    async def drain(self, server: HostServer, grace_seconds: float) -> None:
        """Shut a host down, as SIGTERM does, unless that was done before."""
        if server in self.servers:
            self.servers.remove(server)
            await server.shutdown(grace_seconds)

    async def client(self, url: str) -> Client:
        client = Client(url)
        await client.socket.connect(url, transports=["websocket"])
        self._stack.push_async_callback(lambda: client.socket.disconnect())
        return client

    def http(self, url: str) -> httpx.AsyncClient:
        client = httpx.AsyncClient(base_url=url, trust_env=False, timeout=PATIENCE_SECONDS)
        self._stack.push_async_callback(client.aclose)
        return client

    async def close(self) -> None:
        self.let_on(10_000)
        await self._stack.aclose()


async def _until(is_true: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_true():
            await asyncio.sleep(0.01)


@pytest.fixture
def database() -> None:
    """An empty database with the tables of a store."""
    require_postgres()
    postgres.without_rows()


@pytest.fixture(params=["redis", "postgres"])
async def proxy(request: pytest.FixtureRequest, database: None) -> AsyncIterator[Proxy]:
    """A proxy before the server of the fan-out."""
    proxy = Proxy(await require_redis() if request.param == "redis" else postgres.MIGRATED)
    await proxy.start()
    yield proxy
    await proxy.cut()


@pytest.fixture
async def site(tmp_path: Path, proxy: Proxy) -> AsyncIterator[Site]:
    site = Site(tmp_path, proxy.url)
    yield site
    await site.close()
