"""What a chain stands on: every part has a default, bad input gets one clear line."""

import pytest

from sophon import ModelRequest, Risk, Services, Tool, tool
from sophon.composition.part_factories import to_providers
from sophon.errors import CompositionError, InputError, NotFound, SettingsError
from sophon.models.gateway.provider import Provider
from sophon.models.offline import OfflineModel
from sophon.testing import FunctionModel, ScriptedModel, VirtualClock
from sophon_middlewares.chains import twelve
from tests.tables import table


def model(name: str) -> FunctionModel:
    async def answer(request: ModelRequest) -> str:
        return name

    return FunctionModel(answer, name=name)


@tool(name="calculator")
async def mine(expression: str) -> str:
    """Mine."""
    return "mine"


@tool
async def own() -> str:
    """Own."""
    return "own"


def names(services: Services) -> list[str]:
    return [each.name for each in services.registry.tools]


def test_without_anything_there_is_the_offline_model_a_store_tools_and_nobody_to_ask() -> None:
    services = Services()
    assert [candidate.info.id for candidate in services.gateway.candidates()] == ["offline/offline"]
    assert "datetime.now" in names(services)
    assert services.settings.agent_execution.max_tool_iterations == 100


@table("text", ["", " ", "\n\t"])
def test_an_empty_message_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the message is empty"):
        Services().turn(text)


def test_an_unknown_model_is_refused_with_the_near_names() -> None:
    services = Services(models=[model("gpt-large"), model("other")])
    with pytest.raises(NotFound, match="there is no model 'gpt-lrge'; did you mean 'gpt-large'"):
        services.turn("go", model="gpt-lrge")


@table("chosen", ["b", "b/b"])
async def test_a_chosen_model_answers(chosen: str) -> None:
    services = Services(models=[model("a"), model("b")])
    assert (await twelve(services).run(services.turn("go", model=chosen))).text == "b"


def test_an_unknown_planning_mode_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        InputError, match="'sometimes' is not a planning mode; choose from Auto, LlmDecides, Always, Never"
    ):
        Services().turn("go", planning="sometimes")


def test_each_turn_without_a_session_begins_one() -> None:
    services = Services(clock=VirtualClock())
    one, two = services.turn("a"), services.turn("a")
    assert len({one.session_id, two.session_id, one.run_id, two.run_id}) == 4
    assert services.turn("a", session_id="s").session_id == "s"


def test_the_system_prompt_stands_in_front() -> None:
    assert [m.role for m in Services(instructions="Be brief.").turn("go").messages] == ["system", "user"]
    assert [m.role for m in Services().turn("go").messages] == ["user"]


def test_the_facts_of_a_turn_are_those_that_were_given() -> None:
    ctx = Services().turn("go", stream=True, principal="ada", planning="never", channel="telegram")
    assert (ctx.text, ctx.stream, ctx.principal, ctx.planning, ctx.channel) == ("go", True, "ada", "Never", "telegram")
    assert not ctx.resumed


def test_models_may_be_one_several_or_providers() -> None:
    provider = Provider("mine", [model("x"), model("y")], priority=5)
    assert [p.id for p in to_providers(None)] == ["offline"]
    assert [p.id for p in to_providers(model("a"))] == ["a"]
    assert [p.id for p in to_providers(provider)] == ["mine"]
    assert [(p.id, p.priority) for p in to_providers([model("a"), provider, model("a")])] == [
        ("a", 1),
        ("mine", 5),
        ("a-3", 3),
    ]
    assert to_providers([]) == []
    assert isinstance(to_providers(None)[0].models[0], OfflineModel)


def test_two_providers_with_one_id_are_refused() -> None:
    with pytest.raises(CompositionError, match="two providers have the id 'a'"):
        Services(models=[Provider("a", [model("x")]), Provider("a", [model("y")])])


def test_ones_own_tools_stand_in_front_and_replace_built_in_ones_of_the_same_name() -> None:
    services = Services(tools=[own, mine])
    assert names(services)[:2] == ["own", "calculator"]
    assert names(services).count("calculator") == 1
    assert services.registry.find("calculator") is mine


def test_a_disabled_tool_does_not_exist() -> None:
    services = Services(tools=[own], settings={"Tools": {"Disabled": ["own", "system.execute"]}})
    assert "own" not in names(services)
    assert "system.execute" not in names(services)


def test_without_a_memory_its_tools_do_not_exist_but_ones_own_do() -> None:
    @tool(name="memory.search", risk=Risk.NONE)
    async def search() -> str:
        """Search elsewhere."""
        return ""

    off = {"Memory": {"Enabled": False}}
    assert [name for name in names(Services(settings=off)) if name.startswith("memory.")] == []
    assert [name for name in names(Services(settings=off, tools=[search])) if name.startswith("memory.")] == [
        "memory.search"
    ]
    assert "memory.write" in names(Services())


def test_an_unknown_setting_is_refused_with_the_near_one() -> None:
    with pytest.raises(SettingsError, match="Bugdet"):
        Services(settings={"Bugdet": {}})


async def test_the_history_of_a_session_is_what_was_said() -> None:
    async with Services(models=model("hello")) as services:
        assert await services.history("demo") == []
        await twelve(services).run(services.turn("hi", session_id="demo"))
        assert [(m.role, m.content) for m in await services.history("demo")] == [("user", "hi"), ("assistant", "hello")]


async def test_the_store_is_closed_even_if_a_model_cannot_be() -> None:
    closed: list[str] = []

    class Store:
        def __init__(self, inner) -> None:
            self.inner = inner

        def __getattr__(self, name: str):
            return getattr(self.inner, name)

        async def close(self) -> None:
            closed.append("store")

    services = Services(models=ScriptedModel(["left over"]), store=Store(Services().store))
    with pytest.raises(AssertionError):
        await services.close()

    assert closed == ["store"]


def test_a_tool_that_a_host_offers_stands_behind_the_others_and_in_the_place_of_none() -> None:
    services = Services(tools=[own], settings={"Tools": {"Disabled": ["goals.list"]}})
    before = services.turn("hi")
    count = len(services.registry)
    late, off, other = named("late"), named("goals.list"), named("own")
    for each in (late, off, other, late):
        services.register_tool(each)
    assert services.registry.tools[count:] == (late,)
    assert services.registry.get("own") is own
    assert late not in before.tools
    assert late in services.turn("hi").tools


def named(name: str) -> Tool:
    @tool(name=name)
    async def act() -> None:
        """Do something."""

    return act


def test_services_are_a_dozen_parts() -> None:
    parts = [name for name in vars(Services()) if not name.startswith("_") and name != "expected_stages"]
    assert len(parts) <= 12
