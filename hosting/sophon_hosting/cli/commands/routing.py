"""`sophon routing`: which model a message would get and why; the observed averages, and their reset."""

import asyncio
from typing import Annotated

import typer

from sophon.learning import explain_route
from sophon.learning.trajectories import count_agreement
from sophon.services import Services
from sophon.stores.contract import Store
from sophon.stores.route_averages.contract import RouteAverage
from sophon.stores.vectors.contract import POLICIES
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_result, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.features.learning.results import route_average_to_json

app = command_group("Explain which model a message gets, show what was observed, forget it.", no_args_is_help=True)

COLUMNS = ("model", "tier", "task type", "calls#", "failures#", "cost#", "seconds#", "judged", "people")
SAMPLE = 1000
"""Newest trajectories of which the agreement is shown."""
MICROS = 1_000_000


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
    write_result({"explanation": found}, found.splitlines(), as_json=as_json)


@app.command()
def stats(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Show the moving averages of cost, latency and quality by model, tier and task type.

    The quality is that of a model or scorer that judges (judged), and that of the ratings of people (people).
    """

    async def read(store: Store) -> tuple[list[RouteAverage], dict[str, int]]:
        newest = await store.trajectories.list(limit=SAMPLE)
        return await store.route_averages.list_all(), count_agreement(newest)

    found, agreement = run_with_store(ctx.obj, read)
    if as_json:
        write_json([route_average_to_json(each) for each in found])
    elif found:
        write_table(COLUMNS, [_row(each) for each in found])
        if agreement["compared"]:
            write_notice(
                f"of {agreement['compared']} answers that both have judged, scorer and people agree on "
                f"{agreement['agreed']}"
            )
    else:
        write_lines(["Nothing was observed yet."])


@app.command()
def reset(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Forget averages and decisions in the store; a running host keeps its own until POST /api/routing/reset."""

    async def forget(store: Store) -> int:
        await store.vectors.delete(POLICIES)
        return await store.route_averages.reset()

    count = run_with_store(ctx.obj, forget)
    write_result({"deleted": count}, [f"{count} averages were deleted"], as_json=as_json)


def _row(average: RouteAverage) -> list[str]:
    cost = "unknown" if average.cost_micros is None else f"{average.cost_micros / MICROS:.6f}"
    seconds = "" if average.latency_ms is None else f"{average.latency_ms / 1000:.2f}"
    counts = [str(average.calls), str(average.failures)]
    judged, said = _format_mean(average.quality, average.scored), _format_mean(average.said, average.rated)
    return [average.model, average.tier, average.task_type, *counts, cost, seconds, judged, said]


def _format_mean(mean: float | None, count: int) -> str:
    return "" if mean is None else f"{mean:.2f} of {count}"
