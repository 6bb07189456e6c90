"""`sophon usage`: show token usage and cost by day, provider and model."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from sophon.messages import Usage
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import HostUrlOption
from sophon_hosting.cli.console.output import write_rows
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.features.usage.operations import MAX_DAYS, get_turns, get_usage
from sophon_hosting.features.usage.results import ModelUsage, TurnTotalView
from sophon_hosting.rendering.value_formatting import format_ms, format_usage_cost

DEFAULT_DAYS = 30

TURN_HEADER = (
    *("day", "person", "turns#", "failed#", "cancelled#"),
    *("mean#", "p50#", "p95#", "longest#", "tokens#", "cost#"),
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def usage(
    ctx: typer.Context,
    days: Annotated[
        int, typer.Option(min=1, max=MAX_DAYS, metavar="N", help="The last N days, including today.")
    ] = DEFAULT_DAYS,
    session: Annotated[str | None, typer.Option(metavar="ID", help="All usage of this session.")] = None,
    turns: Annotated[
        bool,
        typer.Option(
            "--turns",
            help="Turns by day (UTC) and person: failures, tokens, cost, distribution of the working time.",
        ),
    ] = False,
    url: HostUrlOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON; cost in micro-USD.")] = False,
) -> None:
    """Show token usage and cost by day, provider and model; `unknown cost` where a price is unknown."""
    if turns and session is not None:
        raise typer.BadParameter("--turns are those of all sessions")
    client = open_client(ctx.obj, url)
    if turns:
        found = client.call(get_turns, days=days, everything=client.is_operator or None)["items"]
        write_rows(found, TURN_HEADER, map(_to_turn_cells, found), "There are no traces of turns.", as_json=as_json)
        return
    zone = load_cli_settings(ctx.obj).budget.time_zone
    since = None if session else first_day(datetime.now(UTC), zone, days)
    totals = client.call(get_usage, since=since, session_id=session)["items"]
    header = ("day", "model", "calls#", "input#", "output#", "cost#")
    write_rows(totals, header, _table_rows(totals), "There is no usage.", as_json=as_json)


def _to_turn_cells(total: TurnTotalView) -> list[str]:
    return [
        total["day"],
        total["principal"],
        f"{total['turns']:,}",
        f"{total['failed']:,}",
        f"{total['cancelled']:,}",
        format_ms(total["working_ms"] / total["turns"]),
        format_ms(total["p50_working_ms"]),
        format_ms(total["p95_working_ms"]),
        format_ms(total["max_working_ms"]),
        f"{total['tokens']:,}",
        format_usage_cost(Usage(cost_micros=total["cost_micros"])),
    ]


def first_day(now: datetime, time_zone: str, days: int) -> date:
    """Return the first of the last `days` days including today, in the budget's time zone."""
    return now.astimezone(ZoneInfo(time_zone)).date() - timedelta(days=days - 1)


def _table_rows(totals: Sequence[ModelUsage]) -> list[list[str]]:
    rows = [
        _table_row(each["day"], f"{each['provider']}/{each['model']}", each["calls"], _usage(each)) for each in totals
    ]
    return [*rows, _table_row("total", "", sum(each["calls"] for each in totals), sum(map(_usage, totals), Usage()))]


def _usage(total: ModelUsage) -> Usage:
    return Usage(
        total["input_tokens"], total["output_tokens"], total["cost_micros"], unpriced_tokens=total["unpriced_tokens"]
    )


def _table_row(day: str, model: str, calls: int, used: Usage) -> list[str]:
    cells = [day, model, f"{calls:,}", f"{used.input_tokens:,}", f"{used.output_tokens:,}"]
    return [*cells, format_usage_cost(used)]
