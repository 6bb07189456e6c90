"""Turns with agents: a scripted answer per agent, found by its prompt, and tools that note who called them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sophon import Context, ModelRequest, ModelResponse, Response, Risk, Services, ToolCall, tool
from sophon.chain.placement import place
from sophon.events import SubAgentChanged
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.agents.agents import Agents
from sophon_middlewares.chains import twelve

Answer = Callable[[ModelRequest], "ModelResponse | str"]


def ask(agent: str, task: str = "do it", call_id: str = "c1") -> ToolCall:
    return ToolCall(id=call_id, name="agents.run", arguments={"agent": agent, "task": task})


def call(tool_name: str, call_id: str = "t1", /, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=tool_name, arguments=arguments)


class Workshop:
    """Services with agents in files. `scripts` maps an agent (`main` for none) to its replies, one per round."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.requests: list[tuple[str, ModelRequest]] = []
        self.scripts: dict[str, list[Any]] = {}
        self.ran: list[tuple[str, str]] = []
        self.gate = asyncio.Event()
        self.started = asyncio.Event()
        self.cleaned: list[str] = []
        self.events = EventRecorder()
        self.clock = VirtualClock(auto=False)
        self.settings: dict[str, Any] = {
            "Agents": {"Directory": str(folder), **settings.pop("Agents", {})},
            "Planning": {"Mode": "Never"},
            "ToolFilter": {"Top": 50},
            "Tools": {"Timeout": "02:00:00", "MaxTimeout": "02:00:00"},
            **settings,
        }
        self.options: dict[str, Any] = {}

    def write(self, name: str, header: str = "", prompt: str | None = None) -> None:
        body = prompt or f"You are {name}."
        (self.folder / f"{name}.md").write_text(
            f"---\nname: {name}\ndescription: About {name}.\n{header}\n---\n{body}\n"
        )

    async def answer(self, request: ModelRequest) -> "str | ModelResponse":
        system = request.messages[0].content if request.messages[0].role == "system" else ""
        agent = system.removeprefix("You are ").split(".")[0] if system.startswith("You are ") else "main"
        self.requests.append((agent, request))
        since = max(i for i, each in enumerate(request.messages) if each.role == "user" and not each.origin)
        done = sum(each.role == "assistant" for each in request.messages[since:])
        script = self.scripts.get(agent, [])
        step = script[done] if done < len(script) else f"{agent} is done"
        if isinstance(step, list) and not request.tools:
            return f"{agent} sums up"
        if isinstance(step, list):
            return ModelResponse("", list(step))
        return step(request) if callable(step) else step

    def open(self) -> Services:
        @tool(risk=Risk.NONE)
        async def look(ctx: Context, name: str = "") -> str:
            """Look at something."""
            self.ran.append(("look", ctx.run_id))
            return f"saw {name}"

        @tool(risk=Risk.NONE, serial=True)
        async def serial(ctx: Context) -> str:
            """Do something alone."""
            self.ran.append(("serial", ctx.run_id))
            return "alone"

        @tool(risk=Risk.NONE, external=True)
        async def fetch(ctx: Context) -> str:
            """Fetch a page."""
            self.ran.append(("fetch", ctx.run_id))
            return "a page"

        @tool(risk=Risk.HIGH)
        async def send(ctx: Context, to: str = "") -> str:
            """Send something."""
            self.ran.append(("send", ctx.run_id))
            return f"sent to {to}"

        @tool(risk=Risk.NONE)
        async def wait(ctx: Context) -> str:
            """Wait for the gate."""
            self.ran.append(("wait", ctx.run_id))
            self.started.set()
            try:
                await self.gate.wait()
            finally:
                self.cleaned.append(ctx.run_id)
            return "waited"

        self.options.setdefault("clock", self.clock)
        self.services = Services(
            models=self.options.get("models") or FunctionModel(self.answer, name="small"),
            tools=[look, serial, fetch, send, wait],
            settings=self.settings,
            events=self.events,
            **{name: value for name, value in self.options.items() if name != "models"},
        )
        self.chain = place(twelve(self.services), [Agents()])
        return self.services

    async def run(self, text: str = "hello", **options: Any) -> tuple[Response, Context]:
        if not hasattr(self, "services"):
            self.open()
        ctx = self.services.turn(text, **options)
        return await self.chain.run(ctx), ctx

    def results(self, ctx: Context) -> list[str]:
        return [each.content for each in ctx.messages if each.role == "tool"]

    def states(self, agent: str | None = None) -> list[str]:
        return [each.state for each in self.events.of(SubAgentChanged) if agent in (None, each.agent)]
