"""The program as people run it: in a folder with settings, a model and a tool of its owner's."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from sophon.processes.command_result import CommandResult
from sophon.processes.command_runner import SHELL, run_unconfined
from tests.fork_server import ForkedProcess

PATIENCE_SECONDS = 60
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


@tool()
async def cling() -> str:
    """Swallow every cancellation."""
    (HERE / "waiting").touch()
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass


async def answer(request):
    last = request.messages[-1]
    if last.content == "cling":
        return ModelResponse("", [ToolCall("call-cling", "cling", {})])
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


Process = ForkedProcess | subprocess.Popen[str]


def started(arguments: tuple[str, ...], folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start an interpreter that runs `sophon`."""
    return subprocess.Popen(
        [sys.executable, "-m", "sophon_hosting.cli", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@dataclass
class Program:
    """`sophon` in a folder, started and watched."""

    folder: Path
    settings: dict[str, Any]
    imports: tuple[str, ...] = ()
    """Libraries that its settings make it load, and that take seconds."""

    running: list[Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "brain.py").write_text(BRAIN)
        self.set(**self.settings)

    def set(self, **sections: Any) -> None:
        """Write the settings."""
        (self.folder / "appsettings.json").write_text(json.dumps({"Sophon": {**SETTINGS, **sections}}))

    def start(self, *arguments: str, fresh: bool = False) -> Process:
        """Begin a command; `fresh` starts an interpreter for it, as people do, in place of a fork."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOPHON", "OPENAI"))}
        process: Process
        if fresh:
            process = started(arguments, self.folder, environment)
        else:
            process = ForkedProcess(arguments, self.folder, environment, imports=self.imports)
        self.running.append(process)
        return process

    def serve(self, port: int = 0, *, fresh: bool = False) -> "Serving":
        """Start a host, and wait until it says where it is."""
        process = self.start("serve", "--port", str(port), fresh=fresh)
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

    process: Process
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


async def run_command(command: str, folder: Path, environment: Mapping[str, str]) -> CommandResult:
    """Run a command with the shell and the rights of the host; see `run_unconfined`."""
    return await run_unconfined([SHELL, "-c", command], folder, environment)
