"""A host as people run it: the program, in a folder with settings, a model and a tool of its owner's."""

import asyncio
import json
import os
import signal
import subprocess
import sys
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


def model():
    return FunctionModel(answer, name="brain")


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
