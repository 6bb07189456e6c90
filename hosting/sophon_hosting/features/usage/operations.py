"""Operations on usage: tokens and cost by day and model, the limits of providers, turns by day and person."""

from datetime import UTC, date, timedelta
from typing import Annotated, cast

from sophon._python.value_rules import ValueRules
from sophon.errors import NotFound
from sophon.stores.traces.turn_total import turn_total_to_json
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.usage.results import (
    ProviderLimit,
    TurnReport,
    TurnTotalView,
    UsageReport,
    model_usage_to_json,
)
from sophon_hosting.operations.request import Doc, Everything, Needs, Request
from sophon_hosting.operations.table import Table
from sophon_middlewares.outer.budget.budget_periods import budget_period, end_of_day, end_of_month

table = Table("usage")

MICROS_PER_UNIT = 1_000_000
MAX_DAYS = 36_500
"""A century; the calendar does not begin before the year 1."""


class UsageQuery(Request):
    """Usage of one session, or of all of them, which is for operators."""

    since: Annotated[date | None, Doc("First day, as 2026-01-31.")] = None
    session_id: Annotated[
        str | None,
        Needs("Operator", if_left_out=True),
        Doc("All usage of this session; without it, that of all, for operators."),
    ] = None


class TurnQuery(Request):
    """Turns of the last days."""

    days: Annotated[int, ValueRules(ge=1, le=MAX_DAYS), Doc("The last N days, including today.")] = 30
    everything: Everything = False


@table.operation("GET /api/usage", needs="Read", errors=(NotFound,))
async def get_usage(caller: Caller, request: UsageQuery) -> UsageReport:
    """Return the usage of one session to its owner; that of all sessions, with the limits, to operators.

    The cost of `unpriced_tokens` is unknown and not in `cost_micros`.
    """
    named = request.session_id
    stored_id = None if named is None else await caller.sessions.find_stored_id(named)
    since = request.since.isoformat() if request.since else ""
    totals = await caller.store.usage.list_totals(since=since, session_id=stored_id)
    report: UsageReport = {"items": [model_usage_to_json(each) for each in totals]}
    if stored_id is None and caller.is_signed_in:
        report["limits"] = await build_limit_rows(caller)
    return report


@table.operation("GET /api/usage/turns", needs="Read")
async def get_turns(caller: Caller, request: TurnQuery) -> TurnReport:
    """Return the turns per day and person, from their traces; an operator may ask for those of all users.

    With failures, working time (sum, mean, longest, median and 95th percentile), tokens and cost; a day is one of UTC.
    """
    today = caller.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found = await caller.store.traces.list_daily(
        since=today - timedelta(days=request.days - 1), principal=caller.owner_filter(request.everything)
    )
    return {"items": [cast(TurnTotalView, turn_total_to_json(each)) for each in found]}


async def build_limit_rows(caller: Caller) -> list[ProviderLimit]:
    """Return per provider the usage today and this month, reservations included, and the limits; null is no limit."""
    budget, now = caller.settings.budget, caller.now()
    period = budget_period(now, budget.time_zone)
    rows: list[ProviderLimit] = []
    for provider in caller.host.services.gateway.providers:
        spent, limits = await caller.store.usage.get_spending(provider.id, period), budget.limits_for(provider.id)
        cost = limits.monthly_cost
        rows.append(
            {
                "provider": provider.id,
                "tokens_today": spent.tokens,
                "daily_tokens": limits.daily_tokens,
                "day_ends": end_of_day(now, budget.time_zone).isoformat(),
                "cost_micros_this_month": spent.micros,
                "monthly_cost_micros": None if cost is None else round(cost * MICROS_PER_UNIT),
                "month_ends": end_of_month(now, budget.time_zone).isoformat(),
            }
        )
    return rows
