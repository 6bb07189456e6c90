"""`sophon routing`: which model a message would get and why; the observed averages, and their reset."""

import asyncio
from typing import Annotated

import typer

from sophon.learning import explain_route
from sophon.services import Services
from sophon.stores.contract import Store
from sophon.stores.route_averages.contract import RouteAverage
from sophon.stores.vectors.contract import POLICIES
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.client_api.serialization import route_average_to_json

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)

COLUMNS = ("model", "tier", "task type", "calls#", "failures#", "cost#", "seconds#", "quality#")
MICROS = 1_000_000


@app.callback()
def routing() -> None:
    """Explain which model a message gets, show what was observed, forget it."""


@app.command()
def explain(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A message.")],
    as_json: JsonOption = False,
) -> None:
    """Show which models a message would be sent to, in which order, and why; nothing is sent."""
    options: GlobalOptions = ctx.obj
    settings = load_cli_settings(options)
    store = create_store(options, settings)
    services = Services.from_settings(settings, folder=options.settings_folder, store=store)

    async def run() -> str:
        async with services:
            return await explain_route(text, services)

    found = asyncio.run(run())
    if as_json:
        write_json({"explanation": found})
    else:
        write_lines(found.splitlines())


@app.command()
def stats(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Show the moving averages of cost, latency and quality by model, tier and task type."""

    async def read(store: Store) -> list[RouteAverage]:
        return await store.route_averages.list_all()

    found = run_with_store(ctx.obj, read)
    if as_json:
        write_json([route_average_to_json(each) for each in found])
    elif found:
        write_table(COLUMNS, [_row(each) for each in found])
    else:
        write_lines(["Nothing was observed yet."])


@app.command()
def reset(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Forget averages and decisions in the store; a running host keeps its own until POST /api/routing/reset."""

    async def forget(store: Store) -> int:
        await store.vectors.delete(POLICIES)
        return await store.route_averages.reset()

    count = run_with_store(ctx.obj, forget)
    if as_json:
        write_json({"deleted": count})
    else:
        write_lines([f"{count} averages were deleted"])


def _row(average: RouteAverage) -> list[str]:
    cost = "unknown" if average.cost_micros is None else f"{average.cost_micros / MICROS:.6f}"
    seconds = "" if average.latency_ms is None else f"{average.latency_ms / 1000:.2f}"
    quality = "" if average.quality is None else f"{average.quality:.2f}"
    counts = [str(average.calls), str(average.failures)]
    return [average.model, average.tier, average.task_type, *counts, cost, seconds, quality]
