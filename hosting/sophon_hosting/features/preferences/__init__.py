"""Preferences of a person for answers."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "preferences": Command(
        "commands", "Show and change how a person wants to be answered.", 290, "[Preferences](preferences.md)"
    ),
}
