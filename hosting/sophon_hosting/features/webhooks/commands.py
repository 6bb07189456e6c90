"""`sophon webhooks`: the webhooks of a running host, and a test event for an outgoing one."""

from sophon_hosting.cli.common_options import command_group
from sophon_hosting.cli.operation_commands import list_command, sentence_formatter, show_command
from sophon_hosting.features.webhooks import operations as webhooks

app = command_group("List the webhooks of a host with their waiting and undelivered events, and try one.")

list_command(
    app,
    webhooks.list_webhooks,
    {
        "id": "id",
        "direction": lambda row: row["direction"] if row["enabled"] else f"{row['direction']} (off)",
        "address": lambda row: row.get("path") or row.get("url") or "",
        "waiting": lambda row: row.get("waiting", ""),
        "dead": lambda row: row.get("dead", ""),
        "last error": lambda row: row.get("last_error", ""),
    },
    "There are no webhooks; they are listed in the settings Webhooks.Incoming and Webhooks.Outgoing.",
)
show_command(app, webhooks.test_webhook, sentence_formatter("The test event {entry_id} is being sent."), name="test")
