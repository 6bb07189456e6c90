"""`/api/usage`: tokens and cost by day, provider and model, and the budget limits."""

from datetime import date
from typing import Any

from aiohttp import web

from sophon_hosting.host import Host
from sophon_hosting.http.exchange import Query, answer, desk_of, host_of, query_of
from sophon_hosting.views import usage_view
from sophon_middlewares.outer.periods import day_ends, month_ends, period_of

MICROS = 1_000_000


class Asked(Query):
    """Query of the usage: since a day, or of one session."""

    since: date | None = None
    session_id: str | None = None


def usage_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/api/usage", used)]


async def used(request: web.Request) -> web.Response:
    """Return the usage of one session to its owner; that of all sessions, with the limits, to operators."""
    query, authorized_host, host = query_of(request, Asked), desk_of(request), host_of(request)
    if query.session_id is not None:
        await authorized_host.session(query.session_id)
    else:
        authorized_host.must_operate()
    since = query.since.isoformat() if query.since else ""
    totals = await host.services.store.usage.totals(since=since, session_id=query.session_id)
    result: dict[str, Any] = {"items": [usage_view(each) for each in totals]}
    if query.session_id is None:
        result["limits"] = await limits(host)
    return answer(result)


async def limits(host: Host) -> list[dict[str, Any]]:
    """Return per provider the usage today and this month, reservations included, and the limits; null is no limit."""
    budget, services = host.services.settings.budget, host.services
    now = services.clock.now()
    period = period_of(now, budget.time_zone)
    rows: list[dict[str, Any]] = []
    for provider in services.gateway.providers:
        spent, provider_limits = await services.store.usage.spent(provider.id, period), budget.limits_of(provider.id)
        cost = provider_limits.monthly_cost
        rows.append(
            {
                "provider": provider.id,
                "tokens_today": spent.tokens,
                "daily_tokens": provider_limits.daily_tokens,
                "day_ends": day_ends(now, budget.time_zone).isoformat(),
                "cost_micros_this_month": spent.micros,
                "monthly_cost_micros": None if cost is None else round(cost * MICROS),
                "month_ends": month_ends(now, budget.time_zone).isoformat(),
            }
        )
    return rows
