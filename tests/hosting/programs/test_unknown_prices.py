"""What a host says about models of unknown price: at its start, in usages and in a trace."""

import socket
from typing import Any

import pytest

from sophon import Services, Usage
from sophon.models.model import Hosting, ModelInfo
from sophon.testing import FunctionModel
from sophon_hosting.features.tasks.task_timeline import format_task
from sophon_hosting.host_server import ListenAddress
from sophon_hosting.programs.serve_host import host_startup_lines
from sophon_hosting.programs.unknown_prices import find_unknown_prices, list_price_warnings
from sophon_hosting.programs.worker import worker_startup_lines
from sophon_hosting.rendering.value_formatting import format_usage_cost

NO_COST = {"Turn": {"Cost": None}}


async def answer(request: Any) -> str:
    return "ok"


def services(hosting: Hosting, budget: dict[str, Any] | None = None) -> Services:
    model = FunctionModel(answer)
    model.info = ModelInfo("new", "p", hosting=hosting)
    return Services(models=model, settings={"Budget": budget or {}})


@pytest.mark.parametrize(
    ("hosting", "budget", "expected"),
    [
        ("hosted", None, ["Budget.Turn.Cost"]),
        ("hosted", NO_COST, [None]),
        ("hosted", {"DefaultPrices": {"Input": 1, "Output": 1}}, []),
        ("private", None, []),
        ("private", {"Providers": {"*": {"MonthlyCost": 1}}}, ["Budget.Providers.*.MonthlyCost"]),
        ("local", {"Providers": {"*": {"MonthlyCost": 1}}}, []),
    ],
)
def test_a_model_is_listed_with_the_limit_that_refuses_it(
    hosting: Hosting, budget: dict[str, Any] | None, expected: list[str | None]
) -> None:
    found = list(find_unknown_prices(services(hosting, budget)))
    assert [each.limit.setting if each.limit else None for each in found] == expected
    assert all("p/new" in str(each) for each in found)


def test_the_start_names_the_model_and_what_to_do() -> None:
    lines = list_price_warnings(services("hosted"))
    assert lines[0].startswith("Warning: the price of p/new is unknown, so it is refused while Budget.Turn.Cost is set")
    assert "Budget.DefaultPrices" in lines[1]
    assert list_price_warnings(services("local")) == []
    assert any("the price of p/new is unknown" in line for line in worker_startup_lines(services("hosted")))
    with socket.socket() as unused:
        address = ListenAddress(unused, "127.0.0.1", 8080)
        assert any("the price of p/new is unknown" in line for line in host_startup_lines(services("hosted"), address))


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(), "$0.0000"),
        (Usage(10, 5, 20_000), "$0.0200"),
        (Usage(10, 5, 0, 0, 15), "unknown cost"),
        (Usage(10, 5, 20_000, 0, 5), "$0.0200 + unknown cost"),
    ],
)
def test_an_unknown_cost_is_not_shown_as_none(usage: Usage, text: str) -> None:
    assert format_usage_cost(usage) == text


def test_a_trace_shows_refusals_exclusions_and_the_unknown_cost() -> None:
    alert = {"provider": "p", "name": "DailyTokens", "limit": 10, "used": 6, "share": 1.0, "refused": True}
    excluded = {"provider": "p", "limit": "DailyTokens", "reason": "the budget DailyTokens is spent", "until": None}
    events = [{"event": "budget_alert", "data": alert}, {"event": "provider_excluded", "data": excluded}]
    task = {"task_id": "t", "session_id": "s", "status": "completed", "usage": Usage(1, 2, 0, 0, 3).to_json()}

    lines = list(format_task(task, events, None))

    assert "budget   DailyTokens of p: refuses calls" in lines[1]
    assert "excluded p: the budget DailyTokens is spent" in lines[2]
    assert lines[-1].endswith("1 tokens in, 2 out, unknown cost")
