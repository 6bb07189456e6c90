"""Replays of turns with plans and sub-agents: the recorded results of the calls within them."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_hosting.features.traces.replay.recorded_turn import load_recorded_turn
from sophon_hosting.features.traces.replay.turn_replay import ReplayRequest, replay_turn
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from tests.databases import SQLITE, copy_database

PLAN = [
    {"id": "one", "description": "Look", "depends_on": [], "estimated_risk": "low"},
    {"id": "two", "description": "Say something", "depends_on": [], "estimated_risk": "low"},
]


class World:
    """A host whose model plans two steps, of which one calls `look` with `place`."""

    def __init__(self, folder: Path) -> None:
        self.ran: list[str] = []
        self.place, self.seen = "cellar", "a barrel"
        self.read: list[str] = []

        @tool(risk=Risk.NONE, max_result=60_000)
        async def look(place: str) -> str:
            """Look at a place."""
            self.ran.append(place)
            return self.seen

        copy_database(folder)
        self.services = Services(
            models=FunctionModel(self.answer),
            tools=[look],
            store=host_store_from_url(SQLITE, folder=folder),
            settings={"Planning": {"Mode": "Always", "MaxDepth": 1}, "Approval": {"AutoApproveUpTo": "Critical"}},
        )
        self.host = Host(self.services, twelve(self.services))

    async def answer(self, request: ModelRequest) -> ModelResponse:
        if request.purpose == "plan":
            return ModelResponse(json.dumps({"goal": "look", "steps": PLAN}))
        last = request.messages[-1]
        if last.role == "tool":
            self.read.append(last.content)
        if request.purpose != "step" or last.role == "tool" or "Look" not in last.content:
            return ModelResponse("seen")
        return ModelResponse(tool_calls=[ToolCall("c", "look", {"place": self.place})])

    async def run(self) -> str:
        receipt = await self.host.accept(RunRequest("Look around, please", "s", "ada", channel="hub"))
        async with asyncio.timeout(60):
            while not (await self.services.store.runs.get(receipt.task_id)).is_finished:
                await asyncio.sleep(0.001)
        return receipt.task_id

    async def replay(self, run_id: str) -> Any:
        turn = await load_recorded_turn(self.services.store, run_id)
        return await replay_turn(self.services, turn, ReplayRequest())


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    async with world.host:
        yield world


async def test_a_step_of_a_plan_gets_the_result_that_was_recorded(world: World) -> None:
    run_id = await world.run()
    assert world.ran == ["cellar"]
    world.read.clear()
    replayed = await world.replay(run_id)
    assert (replayed.reused, replayed.missing, world.ran) == (1, 0, ["cellar"])
    assert "a barrel" in world.read[0]
    # Whether it was untrusted is no longer known.
    assert world.read[0].startswith("<external-")


async def test_a_call_with_other_arguments_has_no_result(world: World) -> None:
    run_id = await world.run()
    world.place = "attic"
    replayed = await world.replay(run_id)
    assert (replayed.reused, replayed.missing, world.ran) == (0, 1, ["cellar"])


async def test_results_of_another_turn_are_not_used(world: World) -> None:
    first = await world.run()
    world.place, world.seen = "attic", "a bat"
    await world.run()
    replayed = await world.replay(first)
    assert (replayed.reused, replayed.missing) == (0, 1)


async def test_a_large_result_is_whole(world: World) -> None:
    world.seen = "barrel " * 7000
    run_id = await world.run()
    turn = await load_recorded_turn(world.services.store, run_id)
    ((call, result),) = turn.calls
    assert (call.name, call.arguments, result) == ("look", {"place": "cellar"}, world.seen)
