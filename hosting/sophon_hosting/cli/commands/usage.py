"""`sophon usage`: show token usage and cost by day, provider and model."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from sophon.messages import Usage
from sophon.stores.contract import Store
from sophon.stores.traces.contract import TurnTotal, turn_total_to_json
from sophon.stores.usage.contract import UsageTotal
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.console.output import write_rows
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.features.usage.results import model_usage_to_json
from sophon_hosting.rendering.trace_tree import format_ms
from sophon_hosting.rendering.value_formatting import format_usage_cost

DEFAULT_DAYS = 30
MAX_DAYS = 36_500
"""A century; the calendar does not begin before the year 1."""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def usage(
    ctx: typer.Context,
    days: Annotated[
        int, typer.Option(min=1, max=MAX_DAYS, metavar="N", help="The last N days, including today.")
    ] = DEFAULT_DAYS,
    session: Annotated[str | None, typer.Option(metavar="ID", help="All usage of this session.")] = None,
    turns: Annotated[
        bool, typer.Option("--turns", help="Turns by day (UTC) and person: failures, working time, tokens, cost.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON; cost in micro-USD.")] = False,
) -> None:
    """Show token usage and cost by day, provider and model."""
    options: GlobalOptions = ctx.obj
    if turns:
        if session is not None:
            raise typer.BadParameter("--turns are those of all sessions")
        _show_turns(options, days, as_json=as_json)
        return
    since = "" if session else first_day(datetime.now(UTC), load_cli_settings(options).budget.time_zone, days)

    async def read(store: Store) -> list[UsageTotal]:
        if session:
            await store.sessions.get(session)
        return await store.usage.list_totals(since=since, session_id=session)

    totals = run_with_store(options, read)
    header = ("day", "model", "calls#", "input#", "output#", "cost#")
    write_rows(map(model_usage_to_json, totals), header, _table_rows(totals), "There is no usage.", as_json=as_json)


def _show_turns(options: GlobalOptions, days: int, *, as_json: bool) -> None:
    first = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days - 1)

    async def read(store: Store) -> Sequence[TurnTotal]:
        return await store.traces.list_daily(since=first)

    found = run_with_store(options, read)
    counts = ("day", "person", "turns#", "failed#", "cancelled#")
    header = (*counts, "mean#", "p50#", "p95#", "longest#", "tokens#", "cost#")
    rows = map(_to_turn_cells, found)
    write_rows(map(turn_total_to_json, found), header, rows, "There are no traces of turns.", as_json=as_json)


def _to_turn_cells(total: TurnTotal) -> list[str]:
    return [
        total.day,
        total.principal,
        f"{total.turns:,}",
        f"{total.failed:,}",
        f"{total.cancelled:,}",
        format_ms(total.working_ms / total.turns),
        format_ms(total.p50_working_ms),
        format_ms(total.p95_working_ms),
        format_ms(total.max_working_ms),
        f"{total.tokens:,}",
        format_usage_cost(Usage(cost_micros=total.cost_micros)),
    ]


def first_day(now: datetime, time_zone: str, days: int) -> str:
    """Return the first of the last `days` days including today, as an ISO date in the budget's time zone."""
    return (now.astimezone(ZoneInfo(time_zone)).date() - timedelta(days=days - 1)).isoformat()


def _table_rows(totals: Sequence[UsageTotal]) -> list[list[str]]:
    rows = [_table_row(each.day, f"{each.provider}/{each.model}", each.calls, each.usage) for each in totals]
    total_usage = sum((each.usage for each in totals), Usage())
    return [*rows, _table_row("total", "", sum(each.calls for each in totals), total_usage)]


def _table_row(day: str, model: str, calls: int, used: Usage) -> list[str]:
    return [
        day,
        model,
        f"{calls:,}",
        f"{used.input_tokens:,}",
        f"{used.output_tokens:,}",
        format_usage_cost(used),
    ]
