"""A host over a database in memory, a model whose answers a test decides, and a clock that a test moves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.stores.contract import Store
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.chains import twelve
from tests.databases import SQLITE, copy_database

PLAN = [
    {"id": "a", "description": "Stall here", "depends_on": [], "tool_hints": ["stall"], "estimated_risk": "low"},
    {"id": "b", "description": "Say something", "depends_on": [], "estimated_risk": "low"},
]
URLS = {"memory": "memory://", "sqlite": SQLITE}
PATIENCE_SECONDS = 60
"""A test that would hang fails instead; one that passes never waits for this."""


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a database in memory, which runs the same statements as a file; a test of several processes asks for one."""
    kind = getattr(request, "param", "memory")
    if kind == "sqlite":
        copy_database(tmp_path)
    return URLS[kind]


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Store]:
    store = host_store_from_url(store_url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


@dataclass
class World:
    """What a test moves and looks at. `Pay x` makes the model call `pay`, which waits for a person; `wait` in a message
    makes its turn wait for `release`; everything else is answered with the message in capitals.
    """

    store: Store
    clock: VirtualClock
    events: EventRecorder = field(default_factory=EventRecorder)
    paid: list[str] = field(default_factory=list)
    wrecked: list[str] = field(default_factory=list)
    planned: int = 0
    plan_risk: str = ""
    """Risk that the model states for the first step of a plan that wrecks."""
    begun: list[str] = field(default_factory=list)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    hosts: list[Host] = field(default_factory=list)
    approve: Decision = field(default_factory=Decision.approve)

    def host(self, settings: dict[str, Any] | None = None, **options: Any) -> Host:
        """A host that is not started; a second one is the next process over the same store."""
        chain = options.pop("chain", twelve)
        services = Services(
            models=FunctionModel(self.answer),
            tools=self.tools(),
            store=self.store,
            events=self.events,
            clock=self.clock,
            settings=settings,
        )
        self.hosts.append(Host(services, chain(services), **options))
        return self.hosts[-1]

    def tools(self) -> list[Any]:
        @tool(risk=Risk.HIGH)
        async def pay(to: str) -> str:
            """Pay somebody."""
            self.paid.append(to)
            return f"paid {to}"

        @tool(risk=Risk.HIGH, editable=False)
        async def burn(what: str) -> str:
            """Burn something."""
            return f"burnt {what}"

        @tool()
        async def stall(what: str) -> str:
            """Take long."""
            self.begun.append(what)
            await self.release.wait()
            return what

        @tool(risk=Risk.CRITICAL)
        async def wreck(what: str) -> str:
            """Wreck something."""
            self.wrecked.append(what)
            return f"wrecked {what}"

        return [pay, burn, stall, wreck]

    def plan(self, text: str) -> str:
        self.planned += 1
        first = {**PLAN[0], "description": "Pay Bob"} if "pay" in text else PLAN[0]
        if self.plan_risk:
            first = {**PLAN[0], "description": "Wreck all", "estimated_risk": self.plan_risk}
        return json.dumps({"goal": "two things", "steps": [first, PLAN[1]]})

    def talk_between_calls(self, answered: int) -> str | ModelResponse:
        """Text before each of two rounds of calls, then an answer; the second round asks a person."""
        if answered == 0:
            return ModelResponse("First I stall.", [ToolCall("c1", "stall", {"what": "here"})])
        if answered == 1:
            return ModelResponse("Then I pay.", [ToolCall("c2", "pay", {"to": "Bob"})])
        return "That is all."

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        if any(each.content == "Two rounds" for each in request.messages):
            return self.talk_between_calls(sum(each.role == "tool" for each in request.messages))
        return await self.answer_other(request)

    async def answer_other(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if request.purpose == "plan":
            return self.plan(last.content)
        if request.purpose == "step" and last.role == "user" and "Wreck all" in last.content:
            return ModelResponse("", [ToolCall("c1", "wreck", {"what": "all"})])
        if last.role == "tool":
            return f"Done: {last.content}"
        if request.purpose == "step" and "Stall here" in last.content:
            return ModelResponse("", [ToolCall("c1", "stall", {"what": "here"})])
        if last.content == "Both":
            return ModelResponse("", [ToolCall("c1", "pay", {"to": "Bob"}), ToolCall("c2", "stall", {"what": "here"})])
        if request.purpose == "step" and "Pay Bob" in last.content:
            return ModelResponse("", [ToolCall("c1", "pay", {"to": "Bob"})])
        verb, _, rest = last.content.partition(" ")
        calls = {"Pay": ("pay", {"to": rest}), "Burn": ("burn", {"what": rest}), "Stall": ("stall", {"what": rest})}
        calls["Wreck"] = ("wreck", {"what": rest})
        if verb in calls:
            name, arguments = calls[verb]
            return ModelResponse("", [ToolCall("c1", name, arguments)])
        if verb == "wait":
            self.begun.append(rest)
            await self.release.wait()
        if verb == "fail":
            raise RuntimeError("the model broke")
        return last.content.upper()

    async def send(
        self, host: Host, text: str, session_id: str = "s", owner: str = "ada", **options: Any
    ) -> TaskReceipt:
        return await host.accept(RunRequest(text, session_id, owner, **options))

    async def run(self, receipt: TaskReceipt) -> Run:
        return await self.store.runs.get(receipt.task_id)

    async def until(self, found: Callable[[], Awaitable[bool]]) -> None:
        """Let the host work until something is so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await found():
                await asyncio.sleep(0)

    async def status(self, receipt: TaskReceipt, *wanted: str) -> Run:
        """Let the host work until a run has one of these states."""

        async def reached() -> bool:
            return (await self.run(receipt)).status in wanted

        await self.until(reached)
        return await self.run(receipt)

    async def ended(self, receipt: TaskReceipt) -> Run:
        """Wait until it has its outcome, and nothing of it is left to be done: it is stored before it is announced."""
        run = await self.status(receipt, "completed", "failed", "cancelled")

        async def released() -> bool:
            return all(host.active_runs.get(receipt.task_id) is None for host in self.hosts)

        await self.until(released)
        return run

    async def suspended(self, host: Host, receipt: TaskReceipt) -> str:
        """Wait until it is suspended and out of hand; the id of what it waits for."""
        run = await self.status(receipt, "suspended")
        await self.rest(host)
        return run.waiting_for[0]

    async def suspended_again(self, receipt: TaskReceipt, *, starts: int) -> Run:
        """Wait until it was begun so often, and is suspended."""

        async def reached() -> bool:
            run = await self.run(receipt)
            return (run.starts, run.status) == (starts, "suspended")

        await self.until(reached)
        return await self.run(receipt)

    async def rest(self, host: Host) -> None:
        """Let the host work until nothing is in flight."""

        async def quiet() -> bool:
            return (await host.queue.statistics()).in_flight == 0

        await self.until(quiet)

    def resume(self, run: Run) -> QueueEntry:
        return QueueEntry(run.id, run.session_id, "resume")

    async def said(self, session_id: str) -> list[str]:
        history = await self.store.sessions.load_history(session_id)
        return [message.content for message in history.messages if message.role != "tool" and message.content]


@pytest.fixture
async def world(store: Store, clock: VirtualClock) -> AsyncIterator[World]:
    world = World(store, clock)
    yield world
    for host in world.hosts:
        await host.shutdown(grace_seconds=0)


@pytest.fixture
async def host(world: World) -> Host:
    """A host at work, with places for three turns."""
    host = world.host()
    await host.start()
    return host
