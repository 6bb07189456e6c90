"""Status: the cost of each tier today and this month, and the limits with their alerts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sophon import ModelRequest, Services, Usage
from sophon.models.gateway.provider import Provider
from sophon.stores.usage.contract import Period, UsageRow, UsageTotal
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.features.learning.routing_status import Status, measure_limit, read_status, sum_by_tier

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
PERIOD = Period("2026-03-15", "2026-03")
TIERS = {"low": ("a/small",), "high": ("a/large", "a/small")}


def total(day: str, model: str, micros: int) -> UsageTotal:
    return UsageTotal(day, "a", model, 2, Usage(10, 1, micros))


def test_costs_are_summed_by_tier_today_and_this_month() -> None:
    rows = [
        total("2026-03-15", "small", 5),
        total("2026-03-15", "large", 100),
        total("2026-03-01", "large", 1000),
        total("2026-03-02", "retired", 7),
    ]
    found = sum_by_tier(rows, TIERS, PERIOD)
    assert [(each.tier, each.today.cost_micros, each.this_month.cost_micros) for each in found] == [
        ("low", 5, 5),
        ("high", 100, 1100),
        ("none", 0, 7),
    ]
    assert [(each.calls_today, each.calls_this_month) for each in found] == [(2, 2), (2, 4), (0, 2)]
    assert found[-1].models == ("a/retired",)


@pytest.mark.parametrize(("used", "alert"), [(0, None), (79, None), (80, 0.8), (99, 0.8), (100, 1.0), (130, 1.0)])
def test_a_limit_has_the_highest_alert_that_it_has_reached(used: int, alert: float | None) -> None:
    assert measure_limit("DailyTokens", "tokens", used, 100, (0.8, 1.0)).alert == alert


async def answer(request: ModelRequest) -> str:
    return "fine"


def build(**settings: Any) -> Services:
    models = [FunctionModel(answer, name="large", prices=(9, 9)), FunctionModel(answer, name="small", prices=(1, 1))]
    return Services(models=[Provider("a", models)], clock=VirtualClock(), settings=settings)


async def read(services: Services) -> Status:
    rows = [
        UsageRow("a", name, "reply", "s", "r", Usage(400, 0, micros), PERIOD, NOW)
        for name, micros in (("large", 900_000), ("small", 10_000))
    ]
    for row in rows:
        await services.store.usage.settle(None, row)
    return await read_status(services, NOW)


async def test_a_host_without_settings_of_routing_has_the_tiers_of_its_prices() -> None:
    found = await read(build())
    assert (found.chain, found.strategy, found.model, found.limits) == ("twelve", "Priority", "a/large", [])
    assert [(each.tier, each.models, each.today.cost_micros) for each in found.tiers] == [
        ("low", ("a/small",), 10_000),
        ("high", ("a/large",), 900_000),
    ]


async def test_the_limits_that_are_set_are_listed_with_their_use() -> None:
    budget = {"Providers": {"a": {"DailyTokens": 1000, "MonthlyCost": 0.5}}, "TaskTypes": {"chat": {"DailyCost": 1}}}
    found = await read(build(Budget=budget, Permissions={"Users": {"ada": {"MonthlyCost": 3}, "*": {"DailyCost": 9}}}))
    assert [(each.name, each.used, each.limit, each.alert) for each in found.limits] == [
        ("DailyTokens of a", 800, 1000, 0.8),
        ("MonthlyCost of a", 0.91, 0.5, 1.0),
        ("DailyCost of ada", 0, 9, None),
        ("MonthlyCost of ada", 0, 3, None),
        ("DailyCost of chat", 0, 1, None),
    ]
