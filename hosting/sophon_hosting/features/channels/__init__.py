"""Channels of a host: their health, their settings and pairing."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "channels": Command(
        "commands",
        "Add Telegram or WhatsApp, each secret tried with the platform; start a detached channel again.",
        70,
        "[Channels](channels.md)",
    ),
    "pairing": Command(
        "pairing_commands",
        "List pairing requests from channels, approve and revoke them.",
        170,
        "[Channels](channels.md)",
    ),
}
