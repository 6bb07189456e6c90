"""Budget.TaskTypes: the meter holds a turn to the limits of its task type, whoever classifies it."""

from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Pipeline, Services, ToolCall, tool
from sophon.errors import SettingsError
from sophon.models.cost_limits import find_blind_cost_limit
from sophon.models.model import ModelInfo
from sophon.settings import Settings
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares.chains import clawft, twelve


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


@pytest.mark.parametrize("compose", [twelve, clawft])
@pytest.mark.parametrize(
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
