"""Simulation: advice beside the result of a risky call, and nothing that the call depends on."""

from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Pipeline, Risk, Services, ToolCall, tool
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, Simulation, ToolExecution
from sophon_middlewares.guards.simulation import CACHE_SIZE, MARKER, TIMEOUT_SECONDS
from tests.middlewares.guards.conftest import Gate


@tool(risk=Risk.HIGH)
async def wipe(what: str) -> str:
    """Delete something."""
    if what == "broken":
        raise ValueError("no")
    return f"{what} is gone"


@tool(risk=Risk.MEDIUM)
async def look(what: str) -> str:
    """Look at something."""
    return f"{what} is there"


class World:
    """Turns of one chain, whose model simulates by `self.answer`."""

    def __init__(self) -> None:
        self.simulation, self.clock, self.asked = Simulation(), VirtualClock(), list[str]()
        self.answer: Any = "It deletes what cannot be brought back."

    async def model(self, request: ModelRequest) -> ModelResponse:
        if request.purpose == "simulation":
            self.asked.append(request.messages[-1].content)
            assert request.max_tokens == 300
            assert "two or three sentences" in request.messages[0].content
            if isinstance(self.answer, Exception):
                raise self.answer
            if self.answer is None:
                await self.clock.sleep(2 * TIMEOUT_SECONDS)
            return ModelResponse(self.answer or "late")
        done = any(each.role == "tool" for each in request.messages)
        return ModelResponse("done" if done else "", [] if done else [self.call])

    async def run(self, name: str = "wipe", what: str = "disk") -> str:
        self.call = ToolCall("c", name, {"what": what})
        services = Services(models=FunctionModel(self.model), tools=[wipe, look], approvals=Gate(), clock=self.clock)
        ctx = services.turn("hi")
        chain = (AgenticLoop(), ParallelExecution(), self.simulation, Approval(), ToolExecution(), LlmInvoker())
        await Pipeline.compose(*chain).run(ctx)
        return next(each.content for each in ctx.messages if each.role == "tool")


@pytest.fixture
def world() -> World:
    return World()


async def test_the_advice_stands_below_the_result_with_a_marker(world: World) -> None:
    assert await world.run() == f"disk is gone\n\n{MARKER}\nIt deletes what cannot be brought back."
    assert world.asked == ['Tool: wipe\nArguments: {"what":"disk"}']


async def test_the_same_call_is_simulated_once_in_five_minutes(world: World) -> None:
    await world.run()
    assert MARKER in await world.run()
    assert len(world.asked) == 1
    await world.clock.sleep(301)
    await world.run()
    await world.run(what="tape")
    assert len(world.asked) == 3


@pytest.mark.parametrize(("name", "what", "asks"), [("look", "disk", 0), ("wipe", "broken", 1)])
async def test_a_harmless_call_and_a_failed_one_have_no_advice(world: World, name: str, what: str, asks: int) -> None:
    assert MARKER not in await world.run(name, what)
    assert len(world.asked) == asks


@pytest.mark.parametrize("answer", [ValueError("down"), None], ids=["error", "time-out"])
async def test_without_an_answer_the_call_runs_all_the_same(world: World, answer: Any) -> None:
    world.answer = answer
    assert await world.run() == "disk is gone"


async def test_advice_and_cache_are_bounded(world: World) -> None:
    world.answer = "x" * 10_000
    assert len(await world.run()) < 700
    for number in range(CACHE_SIZE + 5):
        await world.run(what=str(number))
    assert len(world.simulation._cache) == CACHE_SIZE
