"""A host on loopback whose model answers with texts of any size, and a python-socketio client as anybody writes it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import socketio

from sophon import ModelRequest, ModelResponse, Services, ToolCall
from sophon.testing import FunctionModel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.factory import host_store_from_url
from tests.long_texts import MEGABYTE, text_of
from tests.programs import PATIENCE_SECONDS


class LongModel(FunctionModel):
    """`write N` answers with N bytes; `look N` calls a tool first; `half N` streams N bytes, and waits for `gate`."""

    def __init__(self) -> None:
        super().__init__(self.think, name="long", stream=20_000)
        self.gate = asyncio.Event()
        self.reached = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        verb, _, size = request.messages[-1].content.partition(" ")
        if verb in ("half", "break") and request.on_text is not None:
            request.on_text(text_of(int(size)))
            self.reached.set()
            await self.gate.wait()
            if verb == "break":
                raise RuntimeError("broken")
            return ModelResponse(text_of(int(size)))
        return await super().complete(request)

    async def think(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.role == "tool":
            return text_of(int(request.messages[-3].content.partition(" ")[2]))
        verb, _, size = last.content.partition(" ")
        if verb == "look":
            return ModelResponse("Let me look.", [ToolCall("c", "calculator", {"expression": "6 * 7"})])
        return text_of(int(size)) if size.isdigit() else "hello"


class Listener:
    """A client that notes what it hears."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heard: list[tuple[str, Any]] = []
        self.news = asyncio.Event()
        self.disconnects = 0
        self.socket = socketio.AsyncClient()
        self.socket.on("*", self._hear)
        self.socket.on("disconnect", self._lost)

    def _hear(self, event: str, data: Any) -> None:
        self.heard.append((event, data))
        self.news.set()

    def _lost(self, *_: object) -> None:
        self.disconnects += 1

    async def call(self, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        answer = await self.socket.call(event, payload, timeout=PATIENCE_SECONDS)
        assert answer["ok"], answer
        return answer

    def of(self, *names: str) -> list[Any]:
        return [data for name, data in self.heard if name in names]

    async def until(self, *names: str) -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := self.of(*names)):
                self.news.clear()
                await self.news.wait()
        return found[-1]

    async def outcome(self) -> Any:
        return await self.until("task_completed", "task_failed", "task_cancelled")


class Served:
    """The host, its address, its model."""

    def __init__(self, server: HostServer, url: str, model: LongModel, stack: AsyncExitStack) -> None:
        self.server, self.url, self.model, self._stack = server, url, model, stack
        self.http = aiohttp.ClientSession()

    @property
    def store(self) -> Any:
        return self.server.services.store

    async def get(self, path: str, token: str = "token-of-ada", **headers: str) -> Any:
        async with self.http.get(self.url + path, headers={"Authorization": f"Bearer {token}", **headers}) as response:
            return await response.json() if response.status == 200 else response.status

    async def listener(self, token: str = "token-of-ada") -> Listener:
        listener = Listener(self.url)
        await listener.socket.connect(self.url, auth={"token": token})
        self._stack.push_async_callback(listener.socket.disconnect)
        return listener


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    async with AsyncExitStack() as stack:

        async def start(store_url: str = "sqlite:///sophon.db", max_reply_bytes: int = 32 * MEGABYTE) -> Served:
            model = LongModel()
            users = [{"Id": each, "Token": f"token-of-{each}"} for each in ("ada", "bob")]
            services = Services(
                models=model,
                store=host_store_from_url(store_url, folder=tmp_path),
                settings={
                    "Planning": {"Mode": "Never"},
                    "AgentExecution": {"Titles": False, "MaxReplyBytes": max_reply_bytes},
                    "Hub": {"Users": users, "OpenAiApi": True},
                },
            )
            address = bind_address("127.0.0.1", 0)
            server = HostServer(services, {})
            await server.start(address)
            stack.push_async_callback(server.shutdown, 0)
            served = Served(server, address.url, model, stack)
            stack.push_async_callback(served.http.close)
            return served

        yield start
