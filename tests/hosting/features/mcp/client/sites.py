"""Services with MCP servers, and turns whose scripted model calls their tools."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sophon import Decision, Services, ToolCall
from sophon.approvals import ApprovalRequest
from sophon.clock import SystemClock
from sophon.testing import EventRecorder, ScriptedModel
from sophon_hosting.features.mcp.client.server_status import ServerStatus
from sophon_hosting.features.mcp.client.supervisor import McpSupervisor
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve

SERVER = str(Path(__file__).with_name("misbehaving_server.py"))
FEATURED = str(Path(__file__).with_name("featured_server.py"))


class QuickClock(SystemClock):
    """The real clock, but pauses between starts and lists take no time."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Gate:
    """Approves everything, gives prepared answers to questions, and keeps what was asked.

    Without a further answer a question is never answered; `is_asked` is set by each.
    """

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []
        self.answers: list[Decision] = []
        self.is_asked = asyncio.Event()

    async def request(self, request: ApprovalRequest, /) -> Decision:
        self.asked.append(request)
        self.is_asked.set()
        if request.kind != "question":
            return Decision("approve", decided_by="olga")
        if not self.answers:
            await asyncio.Event().wait()
        return self.answers.pop(0)


class Site:
    """Services with servers, and turns whose model makes given calls."""

    def __init__(
        self, *servers: dict[str, Any], services: Services | None = None, folder: Path | None = None, **settings: Any
    ) -> None:
        self.gate, self.changes, self.events = Gate(), list[ServerStatus](), EventRecorder()
        base = {
            "Mcp": {"Servers": [*servers]},
            "Planning": {"Mode": "Never"},
            "ToolFilter": {"Top": 60},
            **settings,
        }
        self.store = host_store(services) if services else host_store_from_url("memory://", folder=Path())
        self.services = services or Services(
            settings=base, approvals=self.gate, models=ScriptedModel([]), store=self.store
        )
        self.supervisor = McpSupervisor(
            self.services.settings,
            toolbox=self.services.toolbox,
            states=self.store.channel_state,
            clock=QuickClock(),
            environment={"PATH": "/usr/bin", "CANARY": "a-secret-value"},
            folder=folder or Path(),
            on_change=self.changes.append,
        )

    def forget(self) -> None:
        """Begin the next test at servers that go on: nothing was asked, and nothing happened."""
        self.gate, self.events = Gate(), EventRecorder()

    def status(self, server: str = "bad") -> ServerStatus:
        return self.supervisor.servers[server].status

    def states(self, server: str = "bad") -> dict[str, str]:
        return {each.name: each.state for each in self.status(server).tools}

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not reached():
                await asyncio.sleep(0.001)

    async def call(self, *calls: ToolCall) -> list[str]:
        """Run a turn whose model makes the calls, one after the other; return the results."""
        script = [*([call] for call in calls), "done"]
        services = Services(
            settings=self.services.settings,
            approvals=self.gate,
            models=ScriptedModel(script),
            store=self.services.store,
            events=self.events,
        )
        services.toolbox = self.services.toolbox
        ctx = services.turn("go")
        await twelve(services).run(ctx)
        return [each.content for each in ctx.messages if each.role == "tool"]


@asynccontextmanager
async def running(*servers: dict[str, Any], **more: Any) -> AsyncIterator[Site]:
    site = Site(*servers, **more)
    await site.store.open()
    site.supervisor.start()
    await site.supervisor.wait_settled(30)
    try:
        yield site
    finally:
        await site.supervisor.stop()
        await site.store.close()


def bad(name: str = "bad", *arguments: str, **more: Any) -> dict[str, Any]:
    return {"Id": name, "Command": sys.executable, "Args": ["-I", SERVER, *arguments], **more}


def featured(name: str = "srv", *arguments: str, **more: Any) -> dict[str, Any]:
    """Return a server whose calls run without an approval: what its tests are about are its own questions."""
    return {"Id": name, "Command": sys.executable, "Args": ["-I", FEATURED, *arguments], "ReadOnly": ["*"], **more}


def call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall("c", tool, arguments)
