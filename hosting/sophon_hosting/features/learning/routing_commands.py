"""`sophon routing`: which model a message would get and why; the observed averages, and their reset."""

import asyncio
from typing import Annotated

import typer

from sophon.learning import explain_route
from sophon.learning.trajectories import count_agreement
from sophon.services import Services
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_notice, write_result, write_rows
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.operation_commands import sentence_formatter, show_command
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.features.learning.results import RouteAverageView, trajectory_from_json
from sophon_hosting.features.learning.routing_operations import get_routing, reset_routing
from sophon_hosting.features.learning.trajectory_operations import list_trajectories

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
def stats(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Show the moving averages of cost, latency and quality by model, tier and task type.

    The quality is that of a model or scorer that judges (judged), and that of the ratings of people (people).
    """

    client = open_client(ctx.obj, url)
    found = client.call(get_routing)["items"]
    write_rows(found, COLUMNS, map(_row, found), "Nothing was observed yet.", as_json=as_json)
    if found and not as_json:
        newest = client.call(list_trajectories, limit=SAMPLE, everything=True)["items"]
        agreement = count_agreement([*map(trajectory_from_json, newest)])
        if agreement["compared"]:
            write_notice(
                f"of {agreement['compared']} answers that both have judged, scorer and people agree on "
                f"{agreement['agreed']}"
            )


show_command(app, reset_routing, sentence_formatter("{deleted} averages were deleted"), name="reset")


def _row(average: RouteAverageView) -> list[str]:
    cost = "unknown" if average["cost_micros"] is None else f"{average['cost_micros'] / MICROS:.6f}"
    seconds = "" if average["latency_ms"] is None else f"{average['latency_ms'] / 1000:.2f}"
    counts = [str(average["calls"]), str(average["failures"])]
    judged, said = _format_mean(average["quality"], average["scored"]), _format_mean(average["said"], average["rated"])
    return [average["model"], average["tier"], average["task_type"], *counts, cost, seconds, judged, said]


def _format_mean(mean: float | None, count: int) -> str:
    return "" if mean is None else f"{mean:.2f} of {count}"
