"""A host as people run it: the program, in a folder with settings, a model and a tool of its owner's."""

import asyncio
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import socketio

PATIENCE_SECONDS = 30
BRAIN = '''
"""The owner's model and tool: messages say what happens."""
import asyncio
from pathlib import Path

from sophon import ModelResponse, Pipeline, Risk, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve

HERE = Path(__file__).parent


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay somebody."""
    with (HERE / "paid.txt").open("a") as file:
        file.write(f"{to}\\n")
    return f"paid {to}"


async def answer(request):
    last = request.messages[-1]
    if last.content.startswith("pay "):
        return ModelResponse("", [ToolCall(f"call-{len(request.messages)}", "pay", {"to": last.content[4:]})])
    if last.content == "wait":
        (HERE / "waiting").touch()
        while not (HERE / "go").exists():
            await asyncio.sleep(0.01)
    return last.content.upper()


class Brain(FunctionModel):
    async def complete(self, request):
        if request.messages[-1].content != "tell" or request.on_text is None:
            return await super().complete(request)
        request.on_text("one ")
        (HERE / "waiting").touch()
        while not (HERE / "go").exists():
            await asyncio.sleep(0.01)
        request.on_text("two")
        return ModelResponse("one two")


def model():
    return Brain(answer, name="brain", stream=True)


def chain(services):
    return Pipeline.compose(*twelve(services))


def nonsense(services):
    return 5
'''
SETTINGS: dict[str, Any] = {
    "Providers": [{"Id": "mine", "Type": "python", "Factory": "brain:model"}],
    "Tools": {"Modules": ["brain"]},
    "Chain": {"Factory": "brain:chain"},
    "Planning": {"Mode": "Never"},
    "AgentExecution": {"Titles": False},
}


@dataclass
class Program:
    """`sophon` in a folder, started and watched."""

    folder: Path
    settings: dict[str, Any]
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "brain.py").write_text(BRAIN)
        self.set(**self.settings)

    def set(self, **sections: Any) -> None:
        """Write the settings."""
        (self.folder / "appsettings.json").write_text(json.dumps({"Sophon": {**SETTINGS, **sections}}))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a command."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOPHON", "OPENAI"))}
        process = subprocess.Popen(
            [sys.executable, "-m", "sophon_hosting.cli", *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def serve(self, port: int = 0) -> "Serving":
        """Start a host, and wait until it says where it is."""
        process = self.start("serve", "--port", str(port))
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Sophon is at "):
                return Serving(process, line.removeprefix("Sophon is at ").strip())
        raise AssertionError(process.communicate()[1])

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """A command to its end: exit code, output, errors."""
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, out, errors

    def paid(self) -> list[str]:
        """What the tool has done."""
        path = self.folder / "paid.txt"
        return path.read_text().split() if path.exists() else []

    def until(self, found: Callable[[], Any]) -> None:
        """Ask again and again until it is so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not found():
            assert time.monotonic() < deadline, "waited in vain"

    async def appears(self, name: str) -> None:
        """Wait for a file that the model leaves."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (self.folder / name).exists():
                await asyncio.sleep(0.01)


@dataclass
class Serving:
    """A host that runs."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def ended(self, *signals: signal.Signals) -> tuple[int, str]:
        """The same as `end`, while clients go on."""
        return await asyncio.to_thread(self.end, *signals)

    def end(self, *signals: signal.Signals) -> tuple[int, str]:
        """Send signals, and wait for its end: exit code and errors."""
        for each in signals:
            self.process.send_signal(each)
        _, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, errors

    def get(self, path: str) -> Any:
        return httpx.get(self.url + path, trust_env=False, timeout=PATIENCE_SECONDS).json()


class Client:
    """A client that notes what it hears, and finds its host again."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.news = asyncio.Event()
        self.connects = 0
        self.socket = socketio.AsyncClient(reconnection_delay=0.05, reconnection_delay_max=0.2)
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
def program(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    made: list[Program] = []

    def make(**settings: Any) -> Program:
        made.append(Program(tmp_path, settings))
        return made[-1]

    yield make
    for each in made:
        for process in each.running:
            if process.poll() is None:
                process.kill()
            process.communicate()


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
