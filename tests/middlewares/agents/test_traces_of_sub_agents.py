"""Sub-agents in the trace of their turn: linked to the call that runs them, with their own attempts and calls."""

from pathlib import Path

from sophon.chain.placement import place
from sophon.traces.serialization import trace_from_json, trace_to_json, trace_to_stored
from sophon.traces.trace import Trace
from sophon_hosting.features.traces.trace_text import format_trace_tree
from sophon_middlewares.traces.trace import Trace as TraceMiddleware
from tests.agents import Workshop, ask, call


async def trace_of(shop: Workshop) -> Trace:
    services = shop.open()
    shop.chain = place(shop.chain, [TraceMiddleware()])
    await shop.run()
    (found,) = await services.store.traces.list()
    return found


async def test_a_sub_agent_is_linked_to_its_call_and_its_parts_to_it(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look", name="sky")]]}
    found = await trace_of(shop)
    (agent,) = found.agents
    assert (agent.agent, agent.state, agent.step, agent.call_id) == ("helper", "completed", "", "c1")
    assert [(each.tool, each.step) for each in found.tools] == [("agents.run", ""), ("look", agent.id)]
    assert [each.step for each in found.attempts] == ["", agent.id, agent.id, ""]
    assert any(each.depth == 1 and each.name == "LlmInvoker" for each in found.stages)
    assert "sub_agent_changed" not in [each.kind for each in found.notes]
    assert trace_from_json(trace_to_stored(found)) == found


async def test_calls_of_parent_and_child_with_the_same_id_are_both_in_the_trace(shop: Workshop) -> None:
    shop.scripts = {"main": [[ask("helper", call_id="same")]], "helper": [[call("look", "same", name="sky")]]}
    found = await trace_of(shop)
    assert [(each.call_id, each.tool, each.outcome) for each in found.tools] == [
        ("same", "agents.run", "completed"),
        ("same", "look", "completed"),
    ]


async def test_an_agent_of_an_agent_is_below_it_and_shown_so(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("boss")
    shop.write("helper")
    shop.scripts = {"main": [[ask("boss")]], "boss": [[ask("helper")]], "helper": [[call("look", name="sky")]]}
    found = await trace_of(shop)
    boss, helper = sorted(found.agents, key=lambda each: len(each.id))
    assert (helper.agent, helper.step, helper.id.rpartition("/")[0]) == ("helper", boss.id, boss.id)
    lines = list(format_trace_tree(trace_to_json(found), None))
    shown = lines[lines.index("├─ sub-agents") + 1 :][:2]
    assert [each.index("s  ") < each.index(name) for each, name in zip(shown, ("boss", "helper"), strict=True)]
    assert shown[1].index("helper") == shown[0].index("boss") + 2
    assert any(f"[{helper.id}] look: completed" in each for each in lines)


async def test_an_agent_that_fails_says_why(shop: Workshop) -> None:
    def fail(_: object) -> str:
        raise ValueError("no idea")

    shop.scripts = {"main": [[ask("helper")]], "helper": [fail]}
    (agent,) = (await trace_of(shop)).agents
    assert agent.state == "failed"
    assert agent.reason
