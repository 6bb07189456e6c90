"""A setting of a program that its chain does not follow is named in the log; one that it follows is not."""

from typing import Any

import pytest

from sophon import Pipeline, Services, ToolCall, tool
from sophon.errors import CompositionError
from sophon.testing import ScriptedModel
from sophon_hosting.host_chain import build_named_chain
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from sophon_middlewares.chains import clawft, twelve
from tests.tables import table

SHORT = Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())

GUARDED: dict[str, Any] = {"Guards": {"Protection": {"Enabled": True}, "InformationFlow": {"Mode": "Enforce"}}}


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(" does nothing")[0] for record in caplog.records]


async def test_a_guard_that_is_set_and_not_in_the_chain_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    services = Services(settings=GUARDED)
    for _ in range(2):
        await twelve(services).run(services.turn("hi"))
    assert warnings_of(caplog) == ["the setting Guards.InformationFlow", "the setting Guards.Protection"]


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"Agents": {"Directory": "agents"}}, "Agents.Directory"),
        ({"Skills": {"Directories": ["skills"]}}, "Skills.Directories"),
        ({"CustomTools": {"Enabled": True}}, "CustomTools.Enabled"),
        ({"Decisions": {"Enabled": True}}, "Decisions.Enabled"),
        ({"Preferences": {"Enabled": True}}, "Preferences"),
        ({"Learning": {"Enabled": True}}, "Learning.Enabled"),
        ({"Memory": {"Directory": "memory"}}, "Memory.Directory"),
        ({"Replies": {"UrlOutcomes": True}}, "Replies.UrlOutcomes"),
        ({"Traces": {"Enabled": True}}, "Traces.Enabled"),
    ],
)
async def test_so_is_any_other_setting_that_needs_a_middleware(
    settings: dict[str, Any], path: str, caplog: pytest.LogCaptureFixture
) -> None:
    services = Services(settings=settings)
    await twelve(services).run(services.turn("hi"))
    assert warnings_of(caplog) == [f"the setting {path}"]


@pytest.mark.parametrize(
    "settings",
    [
        {
            **GUARDED,
            "Agents": {"Directory": "agents"},
            "CustomTools": {"Enabled": True},
            "Decisions": {"Enabled": True},
        },
        {"Guards": {"Protection": {"Enabled": False}}, "Tools": {"MaxParallel": 2}},
    ],
    ids=["on", "off"],
)
async def test_a_chain_with_what_the_settings_insert_has_no_warning(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    services = Services(settings=settings)
    await build_named_chain(services, "twelve").run(services.turn("hi"))
    assert warnings_of(caplog) == []


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"Planning": {"Mode": "Always"}}, "Planning.Mode"),
        ({"ToolFilter": {"Top": 1}}, "ToolFilter.Top"),
        ({"ContextWindow": {"MaxTokens": 5000}}, "ContextWindow.MaxTokens"),
        ({"Approval": {"AskFrom": "Low"}}, "Approval.AskFrom"),
        ({"Routing": {"Strategy": "Tiered"}}, "Routing.Strategy"),
    ],
)
async def test_a_short_chain_names_what_the_twelve_follow(
    settings: dict[str, Any], path: str, caplog: pytest.LogCaptureFixture
) -> None:
    services = Services(settings=settings)
    await twelve(services).run(services.turn("hi"))
    assert warnings_of(caplog) == []
    await SHORT.run(services.turn("hi"))
    assert warnings_of(caplog) == [f"the setting {path}"]


async def test_a_setting_that_wants_nothing_needs_no_middleware(caplog: pytest.LogCaptureFixture) -> None:
    services = Services(settings={"Planning": {"Mode": "Never"}, "Budget": {"Turn": {"Cost": None}}})
    await SHORT.run(services.turn("hi"))
    assert warnings_of(caplog) == []


async def test_a_chain_that_classifies_follows_the_routing(caplog: pytest.LogCaptureFixture) -> None:
    services = Services(settings={"Routing": {"Classification": {"WholeWords": False}}})
    await clawft(services).run(services.turn("hi"))
    assert warnings_of(caplog) == []


LIMITS: list[tuple[dict[str, Any], str]] = [
    ({"Turn": {"Tokens": 10}}, r"Budget\.Turn\.Tokens"),
    ({"Providers": {"*": {"DailyTokens": 1}}}, r"Budget\.Providers\.\*\.DailyTokens"),
    ({"TaskTypes": {"research": {"MonthlyCost": 1}}}, r"Budget\.TaskTypes\.research\.MonthlyCost"),
]


@table(("budget", "path"), LIMITS)
async def test_a_limit_without_its_middleware_is_refused_in_each_turn(budget: dict[str, Any], path: str) -> None:
    with ScriptedModel([]) as model:
        services = Services(models=model, settings={"Budget": budget})
        for _ in range(2):
            with pytest.raises(CompositionError, match=f"{path} is set, and this chain has no Budget"):
                await SHORT.run(services.turn("hi"))


async def test_a_chain_that_a_tool_runs_is_metered_by_the_outer_turn() -> None:
    @tool
    async def ask() -> str:
        """Ask another turn."""
        return (await SHORT.run(services.turn("inner"))).text

    with ScriptedModel([[ToolCall("1", "ask")], "inner", "outer"]) as model:
        services = Services(models=model, tools=[ask], settings={"Budget": {"Turn": {"Tokens": 100_000}}})
        turn = services.turn("hi")
        assert (await twelve(services).run(turn)).text == "outer"
    assert [each.content for each in turn.messages if each.role == "tool"] == ["inner"]
