"""Webhooks: incoming and outgoing."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "webhooks": Command(
        "commands",
        "List the webhooks of a host with their waiting events, and try one.",
        340,
        "[Webhooks](webhooks.md)",
    ),
}

SETTINGS: Final = ("sophon_hosting.features.webhooks.settings:WebhooksSettings",)
