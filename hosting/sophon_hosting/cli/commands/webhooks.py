"""`sophon webhooks`: the webhooks of a running host, and a test event for an outgoing one."""

from typing import Annotated

import typer

from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_lines, write_rows
from sophon_hosting.cli.remote.host_selection import open_host_client

app = command_group("List the webhooks of a host, and try one.")

WebhookArgument = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The Id of an outgoing webhook.")]


@app.command("list")
def list_webhooks(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the webhooks; for an outgoing one, how many events wait, and how many were given up."""
    found = open_host_client(ctx.obj, url).list_webhooks()
    rows = [
        (
            each["id"],
            each["direction"] if each["enabled"] else f"{each['direction']} (off)",
            each.get("path") or each.get("url") or "",
            str(each.get("waiting", "")),
            str(each.get("dead", "")),
            each.get("last_error", ""),
        )
        for each in found
    ]
    header = ("id", "direction", "address", "waiting", "dead", "last error")
    nothing = "There are no webhooks; they are listed in the settings Webhooks.Incoming and Webhooks.Outgoing."
    write_rows(found, header, rows, nothing, as_json=as_json)


@app.command("test")
def send_test(ctx: typer.Context, webhook: WebhookArgument, url: HostUrlOption = None) -> None:
    """Send the event `webhook_test` to an outgoing webhook; `sophon webhooks list` shows what became of it."""
    entry_id = open_host_client(ctx.obj, url).test_webhook(webhook)
    write_lines([f"The test event {entry_id} is being sent."])
