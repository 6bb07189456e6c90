"""`/api/usage`: tokens and money by day, provider and model, beside the limits."""

from datetime import date
from typing import Any

from aiohttp import web

from sophon_hosting.host import Host
from sophon_hosting.http.exchange import Query, answer, desk_of, host_of, query_of
from sophon_hosting.views import usage_view
from sophon_middlewares.outer.periods import day_ends, month_ends, period_of

MICROS = 1_000_000


class Asked(Query):
    """Since a day, or of one session."""

    since: date | None = None
    session_id: str | None = None


def routes() -> list[web.RouteDef]:
    """All of them."""
    return [web.get("/api/usage", used)]


async def used(request: web.Request) -> web.Response:
    """Of one session to whom it belongs; of all, beside the limits, to operators."""
    query, desk, host = query_of(request, Asked), desk_of(request), host_of(request)
    if query.session_id is not None:
        await desk.session(query.session_id)
    else:
        desk.must_operate()
    since = query.since.isoformat() if query.since else ""
    totals = await host.services.store.usage.totals(since=since, session_id=query.session_id)
    found: dict[str, Any] = {"items": [usage_view(each) for each in totals]}
    if query.session_id is None:
        found["limits"] = await limits(host)
    return answer(found)


async def limits(host: Host) -> list[dict[str, Any]]:
    """Per provider: what is used today and this month, reservations included, and how much may be; null is no limit."""
    budget, services = host.services.settings.budget, host.services
    now = services.clock.now()
    period = period_of(now, budget.time_zone)
    rows: list[dict[str, Any]] = []
    for provider in services.gateway.providers:
        spent, allowed = await services.store.usage.spent(provider.id, period), budget.limits_of(provider.id)
        cost = allowed.monthly_cost
        rows.append(
            {
                "provider": provider.id,
                "tokens_today": spent.tokens,
                "daily_tokens": allowed.daily_tokens,
                "day_ends": day_ends(now, budget.time_zone).isoformat(),
                "cost_micros_this_month": spent.micros,
                "monthly_cost_micros": None if cost is None else round(cost * MICROS),
                "month_ends": month_ends(now, budget.time_zone).isoformat(),
            }
        )
    return rows
