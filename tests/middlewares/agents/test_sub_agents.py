"""A sub-agent: a turn of its own within a turn, with its own prompt, tools and model, and its parent's limits."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sophon import ToolCall
from sophon.agents import agent_runtime
from sophon.approvals import Decision
from sophon.events import SubAgentChanged, ToolCallStarted
from sophon.testing import FunctionModel
from sophon.tools.untrusted_text import FENCING_INSTRUCTIONS, find_fence_sources, unfence_text
from sophon_middlewares.inner import tool_execution
from tests.agents import Workshop, ask, call
from tests.gate import Gate


async def test_a_task_is_done_by_the_agent_and_its_answer_is_a_fenced_result(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper", "look at the sky")]], "helper": [[call("look", name="sky")], "It is blue."]}
    response, ctx = await shop.run()
    assert response.text == "main is done"
    [result] = shop.results(ctx)
    assert unfence_text(result) == "It is blue."
    assert list(find_fence_sources(result)) == ["agents.run"]
    [first, *_] = [request for agent, request in shop.requests if agent == "helper"]
    system, user = first.messages
    assert system.content == f"You are helper.\n\n{FENCING_INSTRUCTIONS}"
    assert (user.role, user.content) == ("user", "look at the sky")


async def test_its_states_and_events_carry_a_run_id_below_its_parents(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")]]}
    _, ctx = await shop.run()
    changed = shop.events.of(SubAgentChanged)
    assert [each.state for each in changed] == ["spawning", "working", "completed"]
    assert {each.agent_id for each in changed} == {each.run_id for each in changed}
    assert changed[0].agent_id.startswith(f"{ctx.run_id}/agent-helper-")
    assert (changed[0].parent_id, changed[0].task_id, changed[0].depth) == (ctx.run_id, ctx.run_id, 1)
    assert [each.run_id for each in shop.events.of(ToolCallStarted) if each.tool == "look"] == [changed[0].agent_id]


async def test_an_unknown_agent_is_named_with_those_that_there_are(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helpr")]]}
    _, ctx = await shop.run()
    assert "there is no agent 'helpr'; the agents are helper" in shop.results(ctx)[0]
    assert shop.states() == []


async def test_an_agent_has_its_own_model_temperature_and_rounds(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("helper", "model: large\ntemperature: 0.5\nmax-rounds: 2")
    large = Workshop(tmp_path)
    shop.scripts = {"main": [[ask("helper")]]}
    large.scripts = {"helper": [[call("look", f"t{n}", name=str(n))] for n in range(9)]}
    models = [make_model(shop, "small"), make_model(large, "large")]
    shop.options["models"] = models
    await shop.run()
    assert [agent for agent, _ in shop.requests] == ["main", "main"]
    assert [(agent, request.temperature) for agent, request in large.requests] == [("helper", 0.5)] * 3
    assert not large.requests[-1][1].tools  # the last reply sums up
    assert shop.states() == ["spawning", "working", "completed"]
    assert [request.temperature for _, request in shop.requests] == [None, None]


def make_model(shop: Workshop, name: str) -> FunctionModel:
    return FunctionModel(shop.answer, name=name)


async def test_a_model_that_does_not_exist_is_said_to_the_caller(shop: Workshop) -> None:
    shop.write("helper", "model: gone")
    shop.scripts = {"main": [[ask("helper")]]}
    _, ctx = await shop.run()
    assert "cannot run" in shop.results(ctx)[0]
    assert "gone" in shop.results(ctx)[0]


async def test_a_definition_is_read_anew_for_each_turn(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]]}
    await shop.run()
    shop.write("helper", prompt="You are changed. And new.")
    shop.write("second")
    await shop.run()
    assert [agent for agent, _ in shop.requests] == ["main", "helper", "main", "main", "changed", "main"]
    listed = shop.requests[3][1].messages[0].content
    assert "- helper: About helper." in listed
    assert "- second: About second." in listed


async def test_several_agents_run_at_once_but_only_so_many_of_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_runtime, "MAX_PER_TURN", 2)
    shop = Workshop(tmp_path)
    shop.write("helper")
    shop.scripts = {"main": [[ask("helper", f"task {n}", f"c{n}") for n in range(4)]], "helper": [[call("wait")]]}
    turn = asyncio.create_task(shop.run())
    await wait_until(lambda: len(shop.ran) == 2)
    await settle()
    assert len(shop.ran) == 2
    assert shop.services.assistant.agents is not None
    assert shop.services.assistant.agents.slots.used == 2
    shop.gate.set()
    _, ctx = await turn
    assert [unfence_text(each) for each in shop.results(ctx)] == ["helper is done"] * 4
    assert shop.services.assistant.agents.slots.used == 0


@pytest.mark.parametrize(("channel", "refused"), [("schedule", 3), ("local", 0)])
async def test_so_many_agents_work_for_a_person_without_them(tmp_path: Path, channel: str, refused: int) -> None:
    shop = Workshop(tmp_path, Goals={"Enabled": True, "Limits": {"RunningAgents": 1}})
    shop.write("helper")
    shop.scripts = {"main": [[ask("helper", f"task {n}", f"c{n}") for n in range(4)]]}
    _, ctx = await shop.run(channel=channel)
    results = shop.results(ctx)
    assert len(results) == 4
    assert sum("1/1 running agents" in each for each in results) == refused


async def test_agents_of_two_unattended_turns_are_counted_together_while_they_wait_for_a_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"Goals": {"Enabled": True, "Limits": {"RunningAgents": 1}}}
    shop = Workshop(tmp_path, **limits)
    monkeypatch.setattr(agent_runtime, "MAX_CONCURRENT", 2)
    shop.write("helper")
    shop.scripts = {"main": [[ask("helper", "one", "c1"), ask("helper", "two", "c2")]], "helper": [[call("wait")]]}
    shop.open()
    attended = asyncio.create_task(shop.run(principal="bob"))
    await wait_until(lambda: len(shop.ran) == 2)
    shop.scripts["main"] = [[ask("helper")]]
    turns = [asyncio.create_task(shop.run(channel="schedule")) for _ in range(2)]
    await settle()
    shop.gate.set()
    await attended
    results = [shop.results(ctx) for _, ctx in await asyncio.gather(*turns)]
    assert sum("1/1 running agents" in each for [each] in results) == 1


async def test_the_process_has_a_limit_over_all_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_runtime, "MAX_CONCURRENT", 1)
    shop = Workshop(tmp_path)
    shop.write("helper")
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    shop.open()
    turns = [asyncio.create_task(shop.run()) for _ in range(2)]
    await wait_until(lambda: len(shop.ran) == 1)
    await settle()
    assert len(shop.ran) == 1
    shop.gate.set()
    await asyncio.gather(*turns)
    assert len(shop.ran) == 2


async def test_agents_within_agents_never_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two agents hold the two slots of the turn and each asks for one more: both are refused, and nothing hangs."""
    monkeypatch.setattr(agent_runtime, "MAX_PER_TURN", 2)
    shop = Workshop(tmp_path)
    shop.write("helper")
    shop.write("nested")
    shop.scripts = {"main": [[ask("helper", call_id="a"), ask("helper", call_id="b")]], "helper": [[ask("nested")]]}
    _, ctx = await asyncio.wait_for(shop.run(), 10)
    told = [request.messages[-1].content for agent, request in shop.requests if agent == "helper"]
    assert sum("too many agents work now" in each for each in told) >= 1
    assert len(shop.results(ctx)) == 2


async def test_agents_run_agents_so_deep_and_no_deeper(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    for name in ("one", "two", "three"):
        shop.write(name)
    shop.scripts = {"main": [[ask("one")]], "one": [[ask("two")]], "two": [[ask("three")]]}
    await shop.run()
    assert {agent for agent, _ in shop.requests} == {"main", "one", "two"}
    [refused] = [request.messages[-1].content for agent, request in shop.requests[3:] if agent == "two"]
    assert refused.startswith("error: ")
    offered = [{tool.name for tool in request.tools} for agent, request in shop.requests if agent == "two"]
    assert all("agents.run" not in each for each in offered)
    assert [each.depth for each in shop.events.of(SubAgentChanged) if each.state == "working"] == [1, 2]


async def test_without_the_depth_limit_it_would_go_deeper(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, Agents={"MaxDepth": 3})
    for name in ("one", "two", "three"):
        shop.write(name)
    shop.scripts = {"main": [[ask("one")]], "one": [[ask("two")]], "two": [[ask("three")]]}
    await shop.run()
    assert "three" in {agent for agent, _ in shop.requests}


async def test_a_depth_of_zero_offers_no_agents(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, Agents={"MaxDepth": 0})
    shop.write("helper")
    shop.scripts = {"main": [[ask("helper")]]}
    _, ctx = await shop.run()
    assert shop.results(ctx)[0].startswith("error: ")
    assert [agent for agent, _ in shop.requests] == ["main", "main"]


async def test_a_serial_tool_of_an_agent_does_not_wait_for_the_call_that_runs_the_agent(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("serial")]]}
    await asyncio.wait_for(shop.run(), 10)
    assert [name for name, _ in shop.ran] == ["serial"]


async def test_an_agent_that_takes_too_long_is_stopped_and_the_turn_goes_on(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    turn = asyncio.create_task(shop.run())
    await wait_until(lambda: bool(shop.ran))
    await advance(shop, 899)
    assert not turn.done()
    await advance(shop, 2)
    response, ctx = await turn
    assert response.text == "main is done"
    assert "did not finish within 900 seconds" in shop.results(ctx)[0]
    assert shop.states() == ["spawning", "working", "timed_out"]
    assert len(shop.cleaned) == 1


async def test_a_definition_may_shorten_the_time_but_not_lengthen_it(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, Agents={"Timeout": "00:01:00"})
    shop.write("quick", "timeout: 10")
    shop.write("slow", "timeout: 1:00:00")
    shop.scripts = {"main": [[ask("quick", call_id="a"), ask("slow", call_id="b")]]}
    shop.scripts |= {"quick": [[call("wait")]], "slow": [[call("wait")]]}
    turn = asyncio.create_task(shop.run())
    await wait_until(lambda: len(shop.ran) == 2)
    await advance(shop, 11)
    assert shop.states("quick")[-1] == "timed_out"
    assert shop.states("slow")[-1] == "working"
    await advance(shop, 50)
    await turn
    assert shop.states("slow")[-1] == "timed_out"


async def test_one_agent_is_cancelled_and_the_turn_goes_on(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    turn = asyncio.create_task(shop.run(principal="ada"))
    await wait_until(lambda: bool(shop.ran))
    assert shop.services.assistant.agents is not None
    [running] = shop.services.assistant.agents.running.list(principal="ada")
    assert shop.services.assistant.agents.running.list(principal="bob") == []
    running.cancel()
    response, ctx = await turn
    assert response.text == "main is done"
    assert "was cancelled" in shop.results(ctx)[0]
    assert shop.states() == ["spawning", "working", "cancelled"]
    assert shop.services.assistant.agents.running.list() == []


async def test_cancelling_the_turn_ends_the_innermost_agent_first(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("outer")
    shop.write("inner")
    shop.scripts = {"main": [[ask("outer")]], "outer": [[ask("inner")]], "inner": [[call("wait")]]}
    turn = asyncio.create_task(shop.run())
    await wait_until(lambda: bool(shop.ran))
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert len(shop.cleaned) == 1
    ends = [each.agent for each in shop.events.of(SubAgentChanged) if each.state == "cancelled"]
    assert ends == ["inner", "outer"]
    assert shop.services.assistant.agents is not None
    assert shop.services.assistant.agents.slots.used == 0
    assert shop.services.assistant.agents.running.list() == []


async def test_an_agent_spends_the_budget_of_its_turn(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, Budget={"Turn": {"ToolCalls": 3}})
    shop.write("helper")
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look", f"t{n}", name=str(n))] for n in range(5)]}
    response, ctx = await shop.run()
    assert response.finish_reason == "budget_exceeded"
    assert len(shop.ran) == 2
    assert ctx.tally.tool_calls == 3


async def test_its_usage_is_that_of_the_turn(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")]]}
    _, ctx = await shop.run()
    assert ctx.tally.model_calls == len(shop.requests) == 4


async def test_what_an_agent_reads_from_outside_taints_its_parent(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("fetch")]]}
    _, ctx = await shop.run()
    assert "fetch" in ctx.tally.untrusted_sources


async def test_a_call_of_an_agent_that_needs_approval_asks_the_same_person(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("helper")

    gate = shop.options["approvals"] = Gate(Decision.reject("no"))
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("send", to="ada")]]}
    _, ctx = await shop.run()
    assert [each.tool for each in gate.asked] == ["send"]
    assert gate.asked[0].run_id.startswith(f"{ctx.run_id}/agent-helper-")
    assert shop.ran == []


async def test_a_waiting_agent_suspends_the_turn_and_goes_on_where_it_was(shop: Workshop) -> None:

    gate = shop.options["approvals"] = Gate(Decision.suspend())
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")], [call("send", "t2", to="ada")], "Sent."]}
    response, ctx = await shop.run()
    assert response.finish_reason == "suspended"
    assert [each.name for each in response.tool_calls] == ["agents.run"]
    assert shop.services.assistant.agents is not None
    assert shop.services.assistant.agents.slots.used == 0
    gate.decision = Decision.approve()
    restored = shop.services.restore(ctx.state())
    response = await shop.chain.run(restored)
    assert response.text == "main is done"
    assert [name for name, _ in shop.ran] == ["look", "send"]
    assert unfence_text(shop.results(restored)[0]) == "Sent."
    assert [agent for agent, _ in shop.requests] == ["main", "helper", "helper", "helper", "main"]


@pytest.mark.parametrize("is_noted", [True, False])
async def test_a_call_that_waited_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_noted: bool) -> None:
    """Three calls: one of the parent, two of the agent. If it were not noted, each resume would count one more."""
    if not is_noted:
        monkeypatch.setattr(tool_execution, "note_suspended_call", lambda ctx, call: None)
    shop = Workshop(tmp_path, Budget={"Turn": {"ToolCalls": 3}})
    shop.write("helper")

    gate = shop.options["approvals"] = Gate(Decision.suspend())
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")], [call("send", "t2", to="ada")], "Sent."]}
    response, ctx = await shop.run()
    for decision in (Decision.suspend(), Decision.approve()):
        assert response.finish_reason == "suspended"
        gate.decision = decision
        ctx = shop.services.restore(ctx.state())
        response = await shop.chain.run(ctx)
        if not is_noted:
            assert response.finish_reason == "budget_exceeded"
            return
    assert response.text == "main is done"
    assert [name for name, _ in shop.ran] == ["look", "send"]
    assert ctx.tally.tool_calls == 3


async def test_the_time_before_a_suspension_counts(shop: Workshop) -> None:

    gate = shop.options["approvals"] = Gate(Decision.suspend())
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")], [call("send", "t2")], [call("wait", "t3")]]}
    turn = asyncio.create_task(shop.run())
    await wait_until(lambda: bool(shop.ran))
    await advance(shop, 600)
    shop.gate.set()
    _, ctx = await turn
    shop.gate.clear()
    gate.decision = Decision.approve()
    restored = shop.services.restore(ctx.state())
    again = asyncio.create_task(shop.chain.run(restored))
    await wait_until(lambda: len(shop.ran) == 3)
    await advance(shop, 290)
    assert not again.done()
    await advance(shop, 20)
    await again
    assert shop.states()[-1] == "timed_out"


async def test_an_agent_cannot_approve_its_own_call(shop: Workshop) -> None:
    """Nobody can be asked: the call of the agent is denied, as one of its parent would be."""
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("send")]]}
    await shop.run()
    assert shop.ran == []


async def test_nothing_is_remembered_of_a_sub_agent_as_conversation(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper", "a secret task")]], "helper": ["A secret answer."]}
    await shop.run(session_id="s")
    stored = await shop.services.history("s")
    assert [each.role for each in stored] == ["user", "assistant", "tool", "assistant"]


async def test_the_agents_are_listed_with_those_that_work(shop: Workshop) -> None:
    listed: list[str] = []

    def note(request: object) -> str:
        listed.append(request.messages[-1].content)  # type: ignore[attr-defined]
        return "ok"

    shop.scripts = {"main": [[ask("helper")]], "helper": [[ToolCall(id="l", name="agents.list", arguments={})], note]}
    await shop.run()
    assert '"agent":"helper","for":"About helper."' in listed[0]
    assert "/agent-helper-" in listed[0]


async def test_an_agent_is_cancelled_by_another_turn_of_the_same_person_only(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    turn = asyncio.create_task(shop.run(principal="ada"))
    await wait_until(lambda: bool(shop.ran))
    assert shop.services.assistant.agents is not None
    [running] = shop.services.assistant.agents.running.list()
    shop.scripts["main"] = [[ToolCall(id="x", name="agents.cancel", arguments={"id": running.id})]]
    _, other = await shop.run(principal="bob")
    assert "no sub-agent" in shop.results(other)[0]
    assert not running.is_cancel_requested
    _, own = await shop.run(principal="ada")
    assert "is being cancelled" in shop.results(own)[0]
    await turn
    assert shop.states()[-1] == "cancelled"


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def wait_until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_true():
            await asyncio.sleep(0.001)


async def advance(shop: Workshop, seconds: float) -> None:
    """Let time pass in steps that every timer sees."""
    left = seconds
    while left > 0:
        await shop.clock.advance(min(left, 4))
        left -= 4
        await settle()
