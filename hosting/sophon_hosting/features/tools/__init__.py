"""Tools, custom tools and skills that a user's turns can use."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "tools": Command(
        "commands", "List the tools, and which of them a person may use.", 80, "[Custom tools](tools.md#custom-tools)"
    ),
}
