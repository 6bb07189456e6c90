"""Notices of a budget: alerts, each sent once in its day or month, and the exclusion of a provider."""

import logging
from typing import Any

import pytest

from sophon import Services
from sophon.errors import BudgetExceeded, PriceUnknown
from sophon.events import BudgetAlert, ProviderExcluded
from sophon.stores.usage.contract import Period, ProviderLimits, Spending
from sophon.testing import EventRecorder
from sophon_middlewares.outer.budget.budget_notices import (
    build_alerts,
    build_exclusion,
    build_refusal_alerts,
    report_exclusion,
    send_alerts,
)
from tests.tables import table

TODAY, TOMORROW = Period("2026-01-30", "2026-01"), Period("2026-01-31", "2026-01")
SPENT = BudgetExceeded("DailyTokens", 5400, 10_000, needed=5000, provider="p", resets_at="2026-01-31T00:00:00+00:00")
UNKNOWN = PriceUnknown("p/new", "p", "Budget.Turn.Cost", 5.0)


@table(("spent", "shares"), [(0, []), (79, []), (80, [0.8]), (95, [0.8]), (100, [0.8, 1.0]), (150, [0.8, 1.0])])
def test_each_share_of_a_limit_that_is_reached_is_an_alert(spent: int, shares: list[float]) -> None:
    found = build_alerts("a", Spending(spent, 0), ProviderLimits(100))
    assert [alert.share for alert in found] == shares
    assert all((alert.name, alert.limit, alert.used) == ("DailyTokens", 100, spent) for alert in found)


def test_an_alert_on_cost_is_in_dollars() -> None:
    [alert] = build_alerts("a", Spending(0, 1_700_000), ProviderLimits(None, 2_000_000))
    assert (alert.name, alert.limit, alert.used, alert.share) == ("MonthlyCost", 2.0, 1.7, 0.8)


@table(("error", "count"), [(SPENT, 1), (BudgetExceeded("Budget.Turn.Tokens", 9, 9), 0), (UNKNOWN, 0)])
def test_a_refusal_by_a_providers_limit_is_an_alert_that_says_so(error: BudgetExceeded, count: int) -> None:
    alerts = build_refusal_alerts(error)
    assert [(each.name, each.used, each.limit, each.share, each.refused) for each in alerts] == [
        ("DailyTokens", 5400, 10_000, 1.0, True)
    ][:count]


def test_an_exclusion_names_provider_limit_reason_and_the_time_of_the_reset() -> None:
    event = build_exclusion(SPENT)
    assert (event.provider, event.limit, event.until) == ("p", "DailyTokens", "2026-01-31T00:00:00+00:00")
    assert event.reason == str(SPENT)
    assert build_exclusion(UNKNOWN).until is None


async def test_an_alert_is_sent_once_in_a_day_and_one_on_cost_once_in_a_month() -> None:
    events = EventRecorder()
    ctx = Services(events=events).turn("go")
    alerts = [
        BudgetAlert(provider="p", name="DailyTokens", limit=1, used=1, share=1.0),
        BudgetAlert(provider="p", name="MonthlyCost", limit=1, used=1, share=1.0),
    ]
    for period in (TODAY, TODAY, TOMORROW):
        await send_alerts(ctx, alerts, period)

    assert [each.name for each in events.of(BudgetAlert)] == ["DailyTokens", "MonthlyCost", "DailyTokens"]


async def test_an_exclusion_is_an_event_and_a_line_in_the_log_once_in_a_turn(caplog: pytest.LogCaptureFixture) -> None:
    events = EventRecorder()
    ctx = Services(events=events).turn("go")
    with caplog.at_level(logging.INFO, "sophon"):
        for _ in range(2):
            await report_exclusion(ctx, SPENT, TODAY)

    assert [each.provider for each in events.of(ProviderExcluded)] == ["p"]
    assert [each.refused for each in events.of(BudgetAlert)] == [True]
    assert caplog.text.count("provider p is excluded: the budget DailyTokens") == 1


async def test_providers_persons_and_task_types_are_each_alerted() -> None:
    events = EventRecorder()
    ctx = Services(events=events).turn("go")
    whose: list[dict[str, Any]] = [
        {},
        {"principal": "ada"},
        {"principal": "bob"},
        {"task_type": "Chat"},
        {"task_type": "Report"},
    ]
    alerts = [BudgetAlert(provider="p", name="DailyTokens", limit=1, used=1, share=1.0, **each) for each in whose]
    for _ in range(2):
        await send_alerts(ctx, alerts, TODAY)
    assert events.of(BudgetAlert) == alerts


async def test_a_limit_that_was_raised_alerts_again() -> None:
    events = EventRecorder()
    ctx = Services(events=events).turn("go")
    for limit in (100, 100, 1000):
        await send_alerts(ctx, build_alerts("p", Spending(950, 0), ProviderLimits(limit)), TODAY)
    assert [(alert.limit, alert.share) for alert in events.of(BudgetAlert)] == [(100, 0.8), (100, 1.0), (1000, 0.8)]
