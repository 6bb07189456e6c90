"""`sophon status`: what messages are routed by, the cost of each tier today and this month, and the limits."""

import asyncio
from collections.abc import Sequence
from typing import Any

import typer

from sophon.messages import Usage
from sophon.services import Services
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.features.learning.routing_status import LimitUse, Status, TierCost, read_status
from sophon_hosting.host_chain import check_chain_name
from sophon_hosting.rendering.value_formatting import format_usage_cost

app = typer.Typer(rich_markup_mode=None, add_completion=False)

TIER_COLUMNS = ("tier", "models", "calls today#", "cost today#", "calls this month#", "cost this month#")
LIMIT_COLUMNS = ("limit", "used#", "of#", "share#", "alert")


@app.command()
def status(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Show chain and strategy, the cost of each tier today and this month, and how far each limit is used.

    A limit names the highest share of Budget.AlertShares that it has reached.
    """
    options: GlobalOptions = ctx.obj
    settings = load_cli_settings(options)
    check_chain_name(settings)
    services = Services.from_settings(settings, folder=options.settings_folder, store=create_store(options, settings))

    async def run() -> Status:
        async with services:
            return await read_status(services, services.clock.now())

    found = asyncio.run(run())
    if as_json:
        write_json(_to_json(found))
        return
    write_lines([f"chain     {found.chain}", f"strategy  {found.strategy}", f"model     {found.model or 'none'}", ""])
    write_table(TIER_COLUMNS, [*map(_to_tier_cells, found.tiers), _total_cells(found.tiers)])
    if found.limits:
        write_lines([""])
        write_table(LIMIT_COLUMNS, [_to_limit_cells(each) for each in found.limits])
    else:
        write_lines(["", "No day or month has a limit; Budget.Providers and Permissions.Users set some."])


def _to_tier_cells(cost: TierCost) -> list[str]:
    return [
        cost.tier,
        ", ".join(cost.models),
        *_cells(cost.calls_today, cost.today, cost.calls_this_month, cost.this_month),
    ]


def _total_cells(tiers: Sequence[TierCost]) -> list[str]:
    today = sum((each.today for each in tiers), Usage())
    month = sum((each.this_month for each in tiers), Usage())
    calls = sum(each.calls_today for each in tiers), sum(each.calls_this_month for each in tiers)
    return ["total", "", *_cells(calls[0], today, calls[1], month)]


def _cells(calls_today: int, today: Usage, calls_this_month: int, this_month: Usage) -> list[str]:
    return [f"{calls_today:,}", format_usage_cost(today), f"{calls_this_month:,}", format_usage_cost(this_month)]


def _to_limit_cells(use: LimitUse) -> list[str]:
    digits = 0 if use.unit == "tokens" else 2
    alert = "" if use.alert is None else "reached" if use.alert >= 1 else f"above {use.alert:.0%}"
    return [use.name, f"{use.used:,.{digits}f}", f"{use.limit:,.{digits}f} {use.unit}", f"{use.share:.0%}", alert]


def _to_json(found: Status) -> dict[str, Any]:
    return {
        "chain": found.chain,
        "strategy": found.strategy,
        "model": found.model,
        "tiers": [
            {
                "tier": each.tier,
                "models": list(each.models),
                "today": {"calls": each.calls_today, **each.today.to_json()},
                "this_month": {"calls": each.calls_this_month, **each.this_month.to_json()},
            }
            for each in found.tiers
        ],
        "limits": [
            {"name": each.name, "unit": each.unit, "used": each.used, "limit": each.limit, "alert": each.alert}
            for each in found.limits
        ],
    }
