"""`/api/usage`: tokens and cost by day, provider and model, and the budget limits."""

from datetime import UTC, date, timedelta
from typing import Annotated, cast

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.stores.traces.contract import turn_total_to_json
from sophon_hosting.features.usage.results import (
    ProviderLimit,
    TurnReport,
    TurnTotalView,
    UsageReport,
    model_usage_to_json,
)
from sophon_hosting.host import Host
from sophon_hosting.http.json_io import RequestQuery, get_host, get_reader, json_response, parse_query
from sophon_middlewares.outer.budget_periods import budget_period, end_of_day, end_of_month

MICROS_PER_UNIT = 1_000_000


class UsageQuery(RequestQuery):
    """Query of the usage: since a day, or of one session."""

    since: date | None = None
    session_id: str | None = None


class TurnQuery(RequestQuery):
    """Query of the turns: the last days, today included; `everything` (all users') is for operators."""

    days: Annotated[int, ValueRules(ge=1, le=1000)] = 30
    everything: bool = False


routes = web.RouteTableDef()


@routes.get("/api/usage")
async def get_usage(request: web.Request) -> web.Response:
    """Return the usage of one session to its owner; that of all sessions, with the limits, to operators."""
    query, authorized_host, host = parse_query(request, UsageQuery), get_reader(request), get_host(request)
    stored_id = None
    if query.session_id is not None:
        stored_id = await authorized_host.sessions.find_stored_id(query.session_id)
    else:
        authorized_host.require_operator()
    since = query.since.isoformat() if query.since else ""
    totals = await host.services.store.usage.list_totals(since=since, session_id=stored_id)
    result: UsageReport = {"items": [model_usage_to_json(each) for each in totals]}
    if query.session_id is None:
        result["limits"] = await build_limit_rows(host)
    return json_response(result)


@routes.get("/api/usage/turns")
async def get_turns(request: web.Request) -> web.Response:
    """Return the turns per day and person, from their traces: one's own, with `everything` all users' to operators."""
    query, authorized_host = parse_query(request, TurnQuery), get_reader(request)
    owner = authorized_host.owner_filter(query.everything)
    services = get_host(request).services
    first = services.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found = await services.store.traces.list_daily(
        since=first - timedelta(days=query.days - 1),
        principal=owner,
    )
    report: TurnReport = {"items": [cast(TurnTotalView, turn_total_to_json(each)) for each in found]}
    return json_response(report)


async def build_limit_rows(host: Host) -> list[ProviderLimit]:
    """Return per provider the usage today and this month, reservations included, and the limits; null is no limit."""
    budget, services = host.services.settings.budget, host.services
    now = services.clock.now()
    period = budget_period(now, budget.time_zone)
    rows: list[ProviderLimit] = []
    for provider in services.gateway.providers:
        spent, provider_limits = (
            await services.store.usage.get_spending(provider.id, period),
            budget.limits_for(provider.id),
        )
        cost = provider_limits.monthly_cost
        rows.append(
            {
                "provider": provider.id,
                "tokens_today": spent.tokens,
                "daily_tokens": provider_limits.daily_tokens,
                "day_ends": end_of_day(now, budget.time_zone).isoformat(),
                "cost_micros_this_month": spent.micros,
                "monthly_cost_micros": None if cost is None else round(cost * MICROS_PER_UNIT),
                "month_ends": end_of_month(now, budget.time_zone).isoformat(),
            }
        )
    return rows
