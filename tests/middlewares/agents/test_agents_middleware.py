"""A message that goes to an agent: the turn has the agent's prompt, tools, model and memory, and says so."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon import Decision, Pipeline, Services
from sophon.chain.placement import place
from sophon.context import Context, Step
from sophon.events import AgentSelected
from sophon.messages import ToolCall
from sophon.skills import SkillCatalog
from sophon.testing import FunctionModel
from sophon.turn.agent import TURN_AGENT, TurnAgent, filter_by_agents
from sophon.turn.permissions import filter_permitted
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from sophon_middlewares.agents.agents import Agents
from sophon_middlewares.chains import clawft, twelve
from tests.agents import Workshop, ask, call
from tests.gate import Gate


async def test_a_message_to_an_agent_runs_with_its_prompt_and_tools(shop: Workshop) -> None:
    shop.write("helper", "tools: [look]")
    response, ctx = await shop.run("@helper hello")
    assert response.text == "helper is done"
    [(agent, request)] = shop.requests
    assert agent == "helper"
    assert [tool.name for tool in request.tools] == ["look"]
    assert request.messages[-1].content == "@helper hello"
    assert [(each.agent, each.rule, each.run_id) for each in shop.events.of(AgentSelected)] == [
        ("helper", "mention", ctx.run_id)
    ]


async def test_another_message_runs_as_before(shop: Workshop) -> None:
    await shop.run("hello")
    assert shop.events.of(AgentSelected) == []
    assert shop.requests[0][0] == "main"


async def test_its_prompt_replaces_that_of_the_services(shop: Workshop) -> None:
    shop.options["instructions"] = "You are Sophon."
    await shop.run("@helper hello")
    contents = [each.content for each in shop.requests[0][1].messages if each.role == "system"]
    assert len(contents) == 1
    assert contents[0].startswith("You are helper.")


async def test_the_history_of_the_session_stays_behind_the_prompt(shop: Workshop) -> None:
    await shop.run("hello", session_id="s")
    await shop.run("@helper and now?", session_id="s")
    await shop.run("thanks", session_id="s")
    roles = [each.role for each in shop.requests[1][1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert [each.content for each in await shop.services.history("s")] == [
        *("hello", "main is done", "@helper and now?", "helper is done", "thanks", "main is done")
    ]


async def test_a_chat_and_a_channel_have_their_agent(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, Agents={"Channels": {"telegram": "helper", "telegram:5": "main"}})
    shop.write("helper")
    await shop.run(channel="telegram", principal="telegram:4")
    await shop.run(channel="telegram", principal="telegram:5")
    await shop.run(channel="local", principal="telegram:4")
    assert [agent for agent, _ in shop.requests] == ["helper", "main", "main"]


async def test_a_call_of_a_tool_that_the_agent_lacks_is_refused(shop: Workshop) -> None:
    shop.write("helper", "tools: [look]")
    shop.scripts = {"helper": [[call("fetch"), call("look", "t2")]]}
    _, ctx = await shop.run("@helper hello")
    assert "there is no tool 'fetch'" in shop.results(ctx)[0]
    assert [name for name, _ in shop.ran] == ["look"]


async def test_the_check_before_the_call_refuses_what_was_offered_by_mistake(shop: Workshop) -> None:
    shop.write("helper", "tools: [look]")

    async def offer_all(ctx: Context, next: object) -> None:
        ctx.tools = ctx.services.registry.tools
        await next(ctx)  # type: ignore[operator]

    shop.open()
    shop.chain = Pipeline.compose(*shop.chain[:8], offer_all, *shop.chain[8:])
    shop.scripts = {"helper": [[call("fetch")]]}
    _, ctx = await shop.run("@helper hello")
    assert "the agent helper may not use fetch" in shop.results(ctx)[0]
    assert shop.ran == []


async def test_loading_tools_gives_an_agent_none_that_it_lacks(shop: Workshop) -> None:
    shop.write("helper", "tools: [look, load_tools]")
    loading = ToolCall(id="g", name="load_tools", arguments={"group": "memory"})
    shop.scripts = {"helper": [[loading], [ToolCall(id="m", name="memory.search", arguments={"query": "x"})]]}
    _, ctx = await shop.run("@helper hello")
    assert all(each.startswith("error: ") for each in shop.results(ctx))


async def test_a_sub_agent_has_no_tool_that_its_parent_lacks(shop: Workshop) -> None:
    shop.write("helper", "tools: [look, fetch]")
    shop.write("boss", "tools: [agents.run, look]")
    shop.scripts = {"boss": [[ask("helper")]], "helper": [[call("fetch"), call("look", "t2")]]}
    await shop.run("@boss hello")
    assert [name for name, _ in shop.ran] == ["look"]
    assert [tool.name for agent, request in shop.requests if agent == "helper" for tool in request.tools] == [
        "look"
    ] * 2


async def test_without_the_parents_list_it_would_have_both(shop: Workshop) -> None:
    shop.write("helper", "tools: [look, fetch]")
    shop.write("boss")
    shop.scripts = {"boss": [[ask("helper")]], "helper": [[call("fetch"), call("look", "t2")]]}
    await shop.run("@boss hello")
    assert [name for name, _ in shop.ran] == ["fetch", "look"]


NAMES = ("look", "serial", "fetch", "send", "wait", "memory.search", "memory.write", "files.read", "calculator")
LISTS = st.none() | st.lists(st.sampled_from([*NAMES, "files.*", "memory.*", "*"]), max_size=4).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(LISTS, st.sampled_from(["owner", "agent", "none"])), min_size=1, max_size=4))
def test_no_agent_has_more_tools_than_any_for_whom_it_works(shop: Workshop, line: list[tuple[object, str]]) -> None:
    services = shop.services if hasattr(shop, "services") else shop.open()
    turn = services.turn("hello")
    allowed = {each.name for each in services.registry}
    for number, (tools, memory) in enumerate(line):
        if number:
            turn = turn.child("task", Step(f"agent-{number}"))
        turn.put(TURN_AGENT, TurnAgent("x", tools, memory))  # type: ignore[arg-type]
        now = {each.name for each in filter_permitted(turn, services.registry)}
        assert now <= allowed
        assert now == {each.name for each in filter_by_agents(turn, services.registry)}
        assert {each.name for each in filter_permitted(turn.child("step", Step("s")), services.registry)} == now
        allowed = now


async def test_what_an_agent_remembers_for_itself_is_seen_by_that_agent_only(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("helper", "memory: agent")
    shop.write("other")
    note = ToolCall(id="w", name="memory.write", arguments={"text": "The password of the club is Heron."})
    look = ToolCall(id="r", name="memory.search", arguments={"query": "password club"})
    shop.scripts = {"helper": [[note], [look]], "other": [[look]], "main": [[look]]}
    _, own = await shop.run("@helper hello", principal="ada")
    _, other = await shop.run("@other hello", principal="ada")
    _, main = await shop.run("hello", principal="ada")
    assert "Heron" in shop.results(own)[1]
    assert "Heron" not in shop.results(other)[0]
    assert "Heron" not in shop.results(main)[0]


async def test_what_an_agent_remembers_for_its_owner_is_seen_by_all(shop: Workshop) -> None:
    note = ToolCall(id="w", name="memory.write", arguments={"text": "The password of the club is Heron."})
    look = ToolCall(id="r", name="memory.search", arguments={"query": "password club"})
    shop.scripts = {"helper": [[note]], "main": [[look]]}
    await shop.run("@helper hello", principal="ada")
    _, main = await shop.run("hello", principal="ada")
    assert "Heron" in shop.results(main)[0]


async def test_an_agent_without_memory_has_no_tools_of_it(shop: Workshop) -> None:
    shop.write("helper", "memory: none")
    await shop.run("@helper hello")
    assert not [tool for tool in shop.requests[0][1].tools if tool.group == "memory"]


async def test_the_skills_of_an_agent_are_in_its_prompt(tmp_path: Path) -> None:
    shop, skills = Workshop(tmp_path / "agents"), tmp_path / "skills"
    (skills / "style").mkdir(parents=True)
    (skills / "style" / "SKILL.md").write_text("---\nname: style\ndescription: Style.\n---\nWrite in verse.\n")
    shop.folder.mkdir()
    shop.write("helper", "skills: [style]")
    shop.options["skills"] = SkillCatalog([skills])
    await shop.run("@helper hello")
    assert "Write in verse." in shop.requests[0][1].messages[0].content


async def test_a_skill_that_is_missing_stops_a_sub_agent_and_is_said(shop: Workshop) -> None:
    shop.write("helper", "skills: [gone]")
    shop.scripts = {"main": [[ask("helper")]]}
    _, ctx = await shop.run()
    assert "there are no skills here" in shop.results(ctx)[0]
    assert shop.states()[-1] == "failed"


async def test_a_model_that_a_person_chose_goes_before_the_agents(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("helper", "model: large")
    asked: list[str] = []

    def make(name: str) -> FunctionModel:
        async def answer(request: object) -> str:
            asked.append(name)
            return "ok"

        return FunctionModel(answer, name=name)

    shop.options["models"] = [make("small"), make("large")]
    await shop.run("@helper hello")
    await shop.run("@helper hello", model="small")
    await shop.run("hello")
    assert asked == ["large", "small", "small"]


async def test_a_restored_turn_stays_with_its_agent(shop: Workshop) -> None:
    shop.write("helper", "tools: [look, send]")

    shop.options["approvals"] = Gate(Decision.suspend(), Decision.reject("no"))
    shop.scripts = {"helper": [[call("send")]]}
    _, ctx = await shop.run("@helper hello")
    restored = shop.services.restore(ctx.state())
    assert restored.get(TURN_AGENT) == TurnAgent("helper", ("look", "send"))
    await shop.chain.run(restored)
    assert [tool.name for tool in shop.requests[-1][1].tools] == ["look", "send"]
    assert shop.requests[-1][1].messages[0].content.startswith("You are helper.")


def test_it_stands_in_front_of_routing_and_once() -> None:
    services = Services()
    names = [type(each).__name__ for each in place(place(twelve(services), [Agents()]), [Agents()])]
    assert names.count("Agents") == 1
    assert names.index("Agents") == names.index("CapabilityRouting") - 1
    assert any(isinstance(each, Agents) for each in place(clawft(services), [Agents()]))
    small = Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())
    assert type(place(small, [Agents()])[0]) is Agents


async def test_without_agents_the_middleware_does_nothing() -> None:
    services = Services(models=FunctionModel(lambda request: _say("ok")))
    assert services.assistant.agents is None
    response = await place(twelve(services), [Agents()]).run(services.turn("@helper hello"))
    assert response.text == "ok"


async def _say(text: str) -> str:
    return text
