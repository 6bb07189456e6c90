"""A whole host on loopback with every feature switched on, and its clients; the model does what a message says."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import socketio  # type: ignore[import-untyped]  # it has no types

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.clock import SystemClock
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.settings.loader import load_with_layers
from sophon.testing import FunctionModel
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.features.mcp.feature import MCP_SERVERS
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.http.api_shapes.recorder import Recorder

PATIENCE_SECONDS = 30
TOKENS = {"ADA": "token-of-ada", "BOB": "token-of-bob", "OLGA": "token-of-olga"}
MCP_SERVER = str(Path(__file__).parents[2] / "features/mcp/client/misbehaving_server.py")
LONG_TEXT = "a long text " * 10_000
GOAL_PLAN = {
    "goal": "g",
    "steps": [
        {"id": "a", "description": "Pay Bob", "depends_on": [], "tool": "pay", "arguments": {"to": "Bob"}},
        {"id": "b", "description": "Pay Eve", "depends_on": ["a"], "tool": "pay", "arguments": {"to": "Eve"}},
    ],
}


@dataclass
class Gates:
    """`stalled` is set once the tool `stall` waits; `release` ends tools and streams that wait."""

    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)


class Served:
    """The host with the recorder of its answers."""

    def __init__(self, server: HostServer, url: str, gates: Gates, stack: AsyncExitStack) -> None:
        self.server, self.url, self._stack = server, url, stack
        self.stalled = gates.stalled
        self.routes = server._app.router
        self.recorder = Recorder(self.routes)
        self.store, self.services = server.services.store, server.services
        self._http: dict[str, httpx.AsyncClient] = {}
        self._sockets: dict[str, socketio.AsyncClient] = {}
        self.heard: dict[str, list[Any]] = {}
        """Events that clients of Socket.IO were sent, by name."""
        self._news = asyncio.Event()

    async def call(
        self, call: str, body: object = None, *, user: str = "ada", note: str = "", **options: Any
    ) -> httpx.Response:
        """Send a request, `METHOD /path`, with a JSON body if there is one, and record the response."""
        response = await self.send(call, body, user=user, **options)
        self.recorder.add_response(response, note)
        return response

    async def send(self, call: str, body: object = None, *, user: str = "ada", **options: Any) -> httpx.Response:
        """Send a request that is not recorded."""
        method, _, path = call.partition(" ")
        if body is not None:
            options["json"] = body
        return await (await self._open(user)).request(method, path, **options)

    async def ask(self, event: str, payload: object = None, *, user: str = "ada", note: str = "") -> dict[str, Any]:
        """Send a Socket.IO event, and record its acknowledgement."""
        answer = await self._emit(user, event, payload)
        self.recorder.add_acknowledgement(event, answer, note)
        return answer

    async def accept(self, call: str, body: object = None, *, user: str = "ada", **options: Any) -> httpx.Response:
        """Send a request that must succeed and is not recorded."""
        response = await self.send(call, body, user=user, **options)
        assert response.is_success, f"{call} {body}: {response.text}"
        return response

    async def accept_event(self, event: str, payload: object, *, user: str = "olga") -> dict[str, Any]:
        """Send a Socket.IO event that must succeed and is not recorded."""
        answer = await self._emit(user, event, payload)
        assert answer["ok"], f"{event} {payload}: {answer}"
        return answer

    async def _emit(self, user: str, event: str, payload: object) -> dict[str, Any]:
        if user not in self._sockets:
            client = self._sockets[user] = socketio.AsyncClient(reconnection=False)
            client.on("*", self._hear)
            self._stack.push_async_callback(client.disconnect)
            await client.connect(self.url, auth={"token": f"token-of-{user}"}, transports=["websocket"])
        answer: dict[str, Any] = await self._sockets[user].call(event, payload, timeout=PATIENCE_SECONDS)
        return answer

    def _hear(self, event: str, data: object) -> None:
        self.heard.setdefault(event, []).append(data)
        self._news.set()

    async def until_heard(self, event: str, task_id: str) -> None:
        """Wait until a client of Socket.IO was sent an event of a task."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not any(each["task_id"] == task_id for each in self.heard.get(event, [])):
                self._news.clear()
                await self._news.wait()

    async def begin(self, content: str, session_id: str = "s", *, user: str = "ada", **more: Any) -> str:
        """Send a message without a record, and return its task."""
        body = {"content": content, "session_id": session_id, **more}
        return str((await self.send("POST /api/tasks", body, user=user)).json()["task_id"])

    async def finish(self, content: str, session_id: str = "s", *, user: str = "ada", **more: Any) -> str:
        """Do the same, and wait until the turn has ended and its trace is stored."""
        task_id = await self.begin(content, session_id, user=user, **more)
        await self.until_ended(task_id)
        return task_id

    async def until_ended(self, task_id: str) -> None:
        """Wait until a turn has ended, nothing works on it any more and its trace is stored."""
        await self.until_status(task_id, "completed", "failed", "cancelled")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.server.host.active_runs.get(task_id) is not None:
                await asyncio.sleep(0)
            while await self.store.traces.find(task_id) is None:
                await asyncio.sleep(0)

    async def until_status(self, task_id: str, *wanted: str) -> None:
        """Wait until a task has one of these states."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await self.store.runs.get(task_id)).status not in wanted:
                await asyncio.sleep(0)

    async def _open(self, user: str) -> httpx.AsyncClient:
        if user not in self._http:
            headers = {"Authorization": f"Bearer token-of-{user}"} if user else {}
            client = httpx.AsyncClient(base_url=self.url, headers=headers, trust_env=False, timeout=PATIENCE_SECONDS)
            self._http[user] = await self._stack.enter_async_context(client)
        return self._http[user]


@asynccontextmanager
async def serve(
    folder: Path, *, tokens: Mapping[str, str] = TOKENS, more: Mapping[str, Any] | None = None
) -> AsyncGenerator[Served]:
    """Start the host in an empty folder, with users by the names of their `tokens`, and `more` sections of settings."""
    write_files(folder, tokens, more or {})
    gates = Gates()
    loaded = load_with_layers(folder=folder, environment={**tokens, "OLLAMA_HOST": "127.0.0.1:1"})
    services = Services(
        models=[FunctionModel(build_answer(gates), name="main", prices=(1, 2), context_window=200_000)],
        tools=build_tools(gates),
        settings=loaded.settings,
        embedder=HashingEmbedder(64),
        folder=folder,
        store=SqlHostStore("memory://", clock=SystemClock()),
    )
    channel = ConfiguredChannel(SyntheticChannel())
    server = HostServer(services, tokens, channels=[channel], loaded=loaded)
    address = bind_address("127.0.0.1", 0)
    async with AsyncExitStack() as stack:
        await server.start(address)
        stack.push_async_callback(server.shutdown, 0)
        stack.callback(gates.release.set)
        if (servers := server.host.feature_services.find(MCP_SERVERS)) is not None:
            await servers.wait_settled(PATIENCE_SECONDS)
        yield Served(server, address.url, gates, stack)


def write_files(folder: Path, tokens: Mapping[str, str], more: Mapping[str, Any]) -> None:
    """Write the settings, an agent, a broken one and a skill."""
    users: list[dict[str, Any]] = [
        {"Id": name.lower(), "Token": {"$env": name}, "Operator": name == "OLGA"} for name in tokens
    ]
    sections: dict[str, Any] = {
        "Hub": {"Users": users, "OpenAiApi": True},
        "AgentExecution": {"Titles": False},
        "Planning": {"Mode": "Never"},
        "ToolFilter": {"Top": 100},
        "Routing": {"Tiers": [{"Name": "all", "Models": ["main/main"], "Complexity": [0, 1]}]},
        "Goals": {"Enabled": True, "Review": False},
        "CustomTools": {"Enabled": True},
        "Agents": {"Directory": str(folder / "agents")},
        "Skills": {"Directories": [str(folder / "skills")]},
        "Tools": {"FilesRoot": str(folder / "files")},
        "Mcp": {
            "Servers": [{"Id": "bad", "Command": sys.executable, "Args": ["-I", MCP_SERVER, str(folder / "about")]}]
        },
        "Budget": {"Providers": {"*": {"DailyTokens": 100_000_000, "MonthlyCost": 1000}}},
        "Webhooks": {
            "Incoming": [{"Id": "issues", "Secret": "a secret of some length", "User": "ada"}],
            "Outgoing": [{"Id": "monitor", "Url": "http://127.0.0.1:1/hook", "Secret": "a secret of some length"}],
        },
    }
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": {**sections, **more}}))
    for name in ("agents", "files", "skills/style", "skills/broken"):
        (folder / name).mkdir(parents=True)
    (folder / "agents" / "helper.md").write_text(
        "---\nname: helper\ndescription: Helps.\ntools: [stall]\n---\nYou are helper.\n"
    )
    (folder / "agents" / "broken.md").write_text("no front matter")
    (folder / "skills" / "broken" / "SKILL.md").write_text("no front matter")
    (folder / "skills" / "style" / "SKILL.md").write_text(
        "---\nname: style\ndescription: Style.\n---\nWrite in verse.\n"
    )


def build_tools(gates: Gates) -> list[Any]:
    """Return `pay`, which must be approved, and `stall`, which waits for `release`."""

    @tool(risk=Risk.HIGH)
    async def pay(to: str) -> str:
        """Pay somebody."""
        return f"paid {to}"

    @tool(risk=Risk.NONE)
    async def stall() -> str:
        """Wait."""
        gates.stalled.set()
        await gates.release.wait()
        return "done"

    return [pay, stall]


def build_answer(gates: Gates) -> Callable[[ModelRequest], Any]:
    """Return what the model does: it answers in capitals, or as the first word of the message says."""

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            return json.dumps(GOAL_PLAN)
        system, last = request.messages[0].content, request.messages[-1]
        if last.role == "tool":
            return "done"
        if system.startswith("You are helper."):
            return ModelResponse("", [ToolCall("c", "stall", {})])
        verb, _, rest = last.content.partition(" ")
        if verb == "pay":
            return ModelResponse("I pay.", [ToolCall("c", "pay", {"to": rest})], reasoning="Who is it?")
        if verb == "stall":
            return ModelResponse("", [ToolCall("c", "stall", {})])
        if verb == "delegate":
            return ModelResponse("", [ToolCall("c", "agents.run", {"agent": "helper", "task": "wait"})])
        if verb == "stream" and request.on_text is not None:
            request.on_text("so far")
            await gates.release.wait()
            return "so far so good"
        if verb == "fail":
            raise RuntimeError("the model is broken")
        return LONG_TEXT if verb == "long" else last.content.upper()

    return answer
