"""A host that answers in capitals, pays after asking, and two users of it besides an operator."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.testing import EventRecorder, FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.host import Host
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@dataclass
class Office:
    host: Host
    events: EventRecorder
    release: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.ada, self.bob = Caller(self.host, User("ada")), Caller(self.host, User("bob"))
        self.operator = Caller(self.host, User("olga", operator=True))

    async def over(self, task_id: str) -> str:
        """Wait for the outcome of a task."""
        return await self.reached(task_id, "completed", "failed", "cancelled")

    async def reached(self, task_id: str, *wanted: str) -> str:
        async with asyncio.timeout(30):
            while (status := (await self.host.services.store.runs.get(task_id)).status) not in wanted:
                await asyncio.sleep(0)
        return status


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    events = EventRecorder()
    holder: list[Office] = []

    async def answer(request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.content.startswith("pay"):
            return ModelResponse("", [ToolCall("c", "pay", {"to": last.content[4:]})])
        if last.content == "wait":
            await holder[0].release.wait()
        return last.content.upper()

    services = Services(
        models=FunctionModel(answer),
        tools=[pay],
        events=events,
        settings={"Planning": {"Mode": "Never"}},
        store=SqlHostStore("memory://"),
    )
    host = Host(services, twelve(services), approvers={"olga"})
    async with host:
        holder.append(Office(host, events))
        yield holder[0]
