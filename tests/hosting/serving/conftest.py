"""A host as people run it, and the clients that people write for it."""

import asyncio
import fcntl
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import socketio

from tests.programs import PATIENCE_SECONDS, program

__all__ = ["program"]


class Client:
    """A client that notes what it hears, and finds its host again."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.news = asyncio.Event()
        self.connects = 0
        # Its own session: python-engineio forgets to close one if a connection comes back while the last is cleaned up.
        self.http = aiohttp.ClientSession()
        self.socket = socketio.AsyncClient(reconnection_delay=0.05, reconnection_delay_max=0.2, http_session=self.http)
        self.socket.on("*", self._hear)
        self.socket.on("connect", self._connected)

    def _hear(self, event: str, data: Any = None) -> None:
        self.heard.append((event, data))
        self.news.set()

    def _connected(self) -> None:
        self.connects += 1
        self.news.set()

    async def connected_again(self, times: int = 2) -> None:
        """Wait until it has connected so often."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.connects < times:
                self.news.clear()
                await self.news.wait()

    async def ask(self, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        return await self.socket.call(event, payload, timeout=PATIENCE_SECONDS)

    async def until(self, event: str, **fields: Any) -> dict[str, Any]:
        """The first event of that name with these fields."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for name, data in self.heard:
                    if name == event and all(data.get(key) == value for key, value in fields.items()):
                        return data
                self.news.clear()
                await self.news.wait()


@pytest.fixture
async def connect():
    clients: list[Client] = []

    async def connect(url: str) -> Client:
        client = Client()
        clients.append(client)
        await client.socket.connect(url)
        return client

    yield connect
    for client in clients:
        await client.socket.disconnect()
        await client.http.close()


NODE = Path(__file__).with_name("node")


@pytest.fixture(scope="session")
def node() -> str:
    """The program, once what the clients need is installed beside them.

    Without Node or npm the tests of these clients are skipped; where SOPHON_CI is set they fail.
    """
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        missing = "needs node and npm: the tests of clients in JavaScript"
        pytest.fail(missing) if os.environ.get("SOPHON_CI") else pytest.skip(missing)
    installed = NODE / "node_modules" / ".package-lock.json"
    with (NODE / ".lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists() or installed.stat().st_mtime < (NODE / "package-lock.json").stat().st_mtime:
            subprocess.run([npm, "ci", "--silent"], cwd=NODE, check=True, timeout=300)
            installed.touch()
    return program


class NodeClient:
    """socket.io-client in a process of its own, driven by lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.said: list[dict[str, Any]] = []
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            self.said.append(said)
            if "event" in said:
                self.heard.append((said["event"], said["data"]))
            self._news.set()

    async def tell(self, **command: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        await self._process.stdin.drain()

    async def ask(self, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        """The acknowledgement of an event."""
        number = next(self._numbers)
        await self.tell(number=number, event=event, payload=payload)
        return (await self.until(lambda said: said.get("number") == number))["answer"]

    async def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """The data of the first event of that name with these fields."""
        said = await self.until(
            lambda said: (
                said.get("event") == name and all(said["data"].get(key) == value for key, value in fields.items())
            )
        )
        return said["data"]

    async def connected(self, times: int = 1) -> None:
        """Wait until it has connected so often."""
        await self.until(lambda _: sum(said.get("connected") is True for said in self.said) >= times)

    async def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for said in self.said:
                    if found(said):
                        return said
                self._news.clear()
                await self._news.wait()

    async def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await self._reading


@pytest.fixture
async def in_node(node: str):
    """Starts a client in Node."""
    clients: list[NodeClient] = []

    async def start(url: str, token: str = "any") -> NodeClient:
        process = await asyncio.create_subprocess_exec(
            node, str(NODE / "driver.js"), url, token, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=2**24
        )
        clients.append(NodeClient(process))
        return clients[-1]

    yield start
    for client in clients:
        await client.close()
