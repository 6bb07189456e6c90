"""A turn sums up before its time is over, also if a tool call runs into the end of it."""

import asyncio

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.tool_calls.tool_limits import find_last_start


@pytest.mark.parametrize("at_once", [1, 2])
async def test_a_tool_call_that_runs_into_the_limit_ends_while_there_is_time_to_sum_up(at_once: int) -> None:
    clock = VirtualClock()

    @tool(timeout_seconds=600)
    async def build(number: int) -> str:
        """Take ten minutes less a second."""
        await clock.sleep(599)
        return f"built {number}"

    async def answer(request: ModelRequest) -> str | ModelResponse:
        rounds = sum(message.role == "tool" for message in request.messages)
        if request.tools:
            return ModelResponse(
                tool_calls=[ToolCall(f"c{each}", "build", {"number": each}) for each in range(rounds, rounds + at_once)]
            )
        return f"summary of {rounds} results"

    settings = {"AgentExecution": {"Titles": False}, "Planning": {"Mode": "Never"}}
    services = Services(
        models=FunctionModel(answer),
        tools=[build],
        clock=clock,
        settings=settings,
        store=SqlHostStore("memory://", clock=clock),
    )
    host, ended = Host(services, twelve(services)), asyncio.Event()
    host.event_bus.subscribe_all(lambda event: ended.set() if event.name in ("task_completed", "task_failed") else None)
    async with host:
        receipt = await host.accept(RunRequest("build it", "s", "ada"))
        async with asyncio.timeout(60):
            await ended.wait()
        run = await services.store.runs.get(receipt.task_id)
    assert run.status == "completed"
    assert run.response["text"] == f"summary of {12 * at_once} results"
    assert find_last_start(7200) < clock.monotonic() <= 7200 - 150
