"""`sophon providers`: keys, cool-downs and circuit breaker of a host's providers; reset of one."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_result, write_table
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.cli.remote.host_selection import open_host_client

app = command_group("List the providers of a host and their cool-downs, and reset one.")

ProviderArgument = Annotated[str, typer.Argument(metavar="PROVIDER", help="The Id of a provider.")]

COLUMNS = ("provider", "health", "circuit", "keys#", "cooling#", "disabled#", "called again at", "last error")


@app.command("list")
def list_providers(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the providers in order of priority, as the host knows them."""
    found = open_host_client(ctx.obj, url).list_providers()
    if as_json:
        write_json(list(found))
    else:
        write_table(COLUMNS, [_row(each) for each in found])


@app.command()
def reset(
    ctx: typer.Context, provider: ProviderArgument, url: HostUrlOption = None, as_json: JsonOption = False
) -> None:
    """Call a provider again now: end cool-downs, enable rejected keys and close the circuit."""
    row = open_host_client(ctx.obj, url).reset_provider(provider)
    write_result(row, [f"{row['provider']} is called again; it is {row['health']}"], as_json=as_json)


def _row(row: JsonRow) -> Sequence[str]:
    counts = [str(row[name]) for name in ("keys", "keys_cooling", "keys_disabled")]
    until = str(row["available_at"] or "")[:19]
    return [str(row["provider"]), str(row["health"]), str(row["circuit"]), *counts, until, str(row["last_error"])]
