"""Budget.TaskTypes: the meter holds a turn to the limits of its task type, whoever classifies it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Pipeline, Response, Services, ToolCall, Usage, tool
from sophon.errors import SettingsError
from sophon.events import BudgetAlert
from sophon.models.blind_cost_limits import find_blind_cost_limit
from sophon.models.model import ModelInfo
from sophon.settings import Settings
from sophon.stores.sql_store import SqlStore
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import clawft, twelve
from tests.tables import table


@tool()
async def look(what: str) -> str:
    """Look at something."""
    return f"saw {what}"


async def answer(request: ModelRequest) -> ModelResponse:
    if any(each.role == "tool" for each in request.messages):
        return ModelResponse("done")
    return ModelResponse("", [ToolCall(f"c{number}", "look", {"what": str(number)}) for number in range(3)])


def build(budget: dict[str, Any]) -> Services:
    settings = {"Budget": budget, "Planning": {"Mode": "Never"}}
    return Services(models=FunctionModel(answer, prices=(1, 1)), tools=[look], clock=VirtualClock(), settings=settings)


@table("compose", [twelve, clawft])
@table(
    ("limits", "setting"),
    [
        ({"ToolCalls": 2}, "Budget.TaskTypes.research.ToolCalls"),
        ({"Tokens": 500}, "Budget.TaskTypes.research.Tokens"),
        ({"Cost": 0.0001}, "Budget.TaskTypes.research.Cost"),
        ({"ToolCalls": 3}, None),
    ],
)
async def test_a_turn_is_held_to_the_limits_of_its_task_type(compose: Any, limits: Any, setting: str | None) -> None:
    services = build({"TaskTypes": {"research": limits}})
    response = await compose(services).run(services.turn("research the lighthouses"))
    assert response.finish_reason == ("stop" if setting is None else "budget_exceeded")
    if setting is not None:
        assert response.detail["limit"] == setting
    # Others keep the limits of Budget.Turn.
    assert (await compose(services).run(services.turn("hello"))).finish_reason == "stop"


async def test_a_task_type_may_have_more_than_other_turns_and_what_it_does_not_set_holds_for_it() -> None:
    services = build({"Turn": {"ToolCalls": 1, "Tokens": 100_000}, "TaskTypes": {"research": {"ToolCalls": 9}}})
    pipeline: Pipeline = twelve(services)
    assert (await pipeline.run(services.turn("research it"))).finish_reason == "stop"
    refused = await pipeline.run(services.turn("hello"))
    assert (refused.finish_reason, refused.detail["limit"]) == ("budget_exceeded", "Budget.Turn.ToolCalls")
    limits = services.settings.budget.limits_of_turn("research")
    assert (limits.tokens, limits.tool_calls) == (100_000, 9)


def test_a_limit_on_the_cost_of_a_task_type_refuses_a_model_of_unknown_price() -> None:
    budget = Settings.from_mapping({"Budget": {"Turn": {"Cost": None}, "TaskTypes": {"chat": {"Cost": 1}}}}).budget
    unknown = ModelInfo("m", "p", hosting="hosted")
    found = find_blind_cost_limit(unknown, budget)
    assert found is not None
    assert found.setting == "Budget.TaskTypes.chat.Cost"


def test_what_is_no_task_type_is_named() -> None:
    with pytest.raises(SettingsError, match=r"Budget\.TaskTypes\.poetry"):
        Settings.from_mapping({"Budget": {"TaskTypes": {"poetry": {"Tokens": 1}}}})


@pytest.mark.parametrize("compose", [twelve, clawft])
@pytest.mark.parametrize(("name", "waits"), [("DailyCost", timedelta(days=1)), ("MonthlyCost", timedelta(days=31))])
async def test_the_account_of_a_task_type_refuses_everybody_until_its_period_ends(
    compose: Any, name: str, waits: timedelta, tmp_path: Path
) -> None:
    clock, url = VirtualClock(), f"sqlite:///{tmp_path}/books.db"

    async def dear(request: ModelRequest) -> ModelResponse:
        return ModelResponse("done", usage=Usage(4500, 500))

    async def ask(text: str, principal: str) -> tuple[Response, list[BudgetAlert]]:
        # A store of its own each time, as after a restart.
        store, events = SqlStore(url, clock=clock), EventRecorder()
        await store.open()
        settings = {
            "Budget": {"TaskTypes": {"research": {name: 0.06}}},
            "Planning": {"Mode": "Never"},
        }
        model = FunctionModel(dear, prices=(10, 10))
        services = Services(models=model, store=store, clock=clock, events=events, settings=settings)
        try:
            ctx = services.turn(text, principal=principal)
            return await compose(services).run(ctx), events.of(BudgetAlert)
        finally:
            await store.close()

    answered, alerts = await ask("research the lighthouses", "ada")
    assert (answered.finish_reason, [(each.task_type, each.share) for each in alerts]) == ("stop", [("research", 0.8)])
    refused, alerts = await ask("research the tides", "bob")
    assert (refused.finish_reason, refused.detail["limit"]) == (
        "budget_exceeded",
        f"Budget.TaskTypes.research.{name}",
    )
    assert [(each.task_type, each.name, each.refused) for each in alerts] == [("research", name, True)]
    assert (await ask("hello", "bob"))[0].finish_reason == "stop", "other task types have no limit"
    clock.advance(waits.total_seconds())
    assert (await ask("research the tides", "bob"))[0].finish_reason == "stop"


async def test_a_model_of_unknown_price_is_refused_under_the_account_of_a_task_type() -> None:
    hosted = FunctionModel(answer)
    hosted.info = replace(hosted.info, hosting="hosted")
    services = Services(
        models=hosted,
        tools=[look],
        settings={"Budget": {"Turn": {"Cost": None}, "TaskTypes": {"research": {"MonthlyCost": 1}}}},
    )
    refused = await twelve(services).run(services.turn("research it"))
    assert (refused.finish_reason, refused.detail["limit"]) == (
        "budget_exceeded",
        "Budget.TaskTypes.research.MonthlyCost",
    )
