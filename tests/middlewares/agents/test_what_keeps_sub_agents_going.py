"""What each guarantee of sub-agents rests on: without it, the same turn hangs, repeats itself or says too much."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sophon import Decision
from sophon.agents import agent_runtime
from sophon.builtin_tools import sub_agents
from sophon.builtin_tools.agents import agents_list, agents_run
from sophon.builtin_tools.sub_agents import OpenAgents
from sophon.extensions import Key
from sophon.tools.untrusted_text import find_fence_sources
from sophon_middlewares.agents import agents as middleware
from tests.agents import Workshop, ask, call
from tests.gate import Gate


async def is_stuck(turn: "asyncio.Task[object]") -> bool:
    """Return whether a turn makes no progress although nothing outside of it is waited for, and end it."""
    for _ in range(2000):
        await asyncio.sleep(0)
    stuck = not turn.done()
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    return stuck


async def test_a_call_that_held_a_slot_would_lock_out_the_tools_of_its_agent(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = replace(agents_run, nested=False)
    monkeypatch.setattr(middleware, "agent_tools", lambda: [plain, agents_list])
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("serial")]]}
    assert await is_stuck(asyncio.create_task(shop.run()))
    assert shop.ran == []


async def test_agents_that_waited_for_each_other_would_never_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def always_wait(ctx: object, runtime: object) -> None:
        await runtime.slots.acquire(ctx.task_id)  # type: ignore[attr-defined]

    monkeypatch.setattr(sub_agents, "_acquire_slot", always_wait)
    monkeypatch.setattr(agent_runtime, "MAX_PER_TURN", 1)
    shop = Workshop(tmp_path)
    shop.write("helper")
    shop.write("nested")
    shop.scripts = {"main": [[ask("helper")]], "helper": [[ask("nested")]]}
    assert await is_stuck(asyncio.create_task(shop.run()))


async def test_an_agent_whose_state_is_not_stored_would_begin_again(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sub_agents, "OPEN_AGENTS", Key[OpenAgents]("agents.open"))

    gate = shop.options["approvals"] = Gate(Decision.suspend())
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")], [call("send", "t2", to="ada")], "Sent."]}
    _, ctx = await shop.run()
    gate.decision = Decision.approve()
    asked = len([agent for agent, _ in shop.requests if agent == "helper"])
    await shop.chain.run(shop.services.restore(ctx.state()))
    again = [agent for agent, _ in shop.requests if agent == "helper"][asked:]
    assert len(again) == 3  # all of its replies, and not only the last one


async def test_without_the_fence_an_answer_would_stand_among_the_instructions(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = replace(agents_run, external=False)
    monkeypatch.setattr(middleware, "agent_tools", lambda: [plain])
    shop.scripts = {"main": [[ask("helper")]]}
    _, ctx = await shop.run()
    assert list(find_fence_sources(shop.results(ctx)[0])) == []
