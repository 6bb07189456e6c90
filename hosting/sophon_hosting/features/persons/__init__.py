"""Export and deletion of everything that is kept of a person."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "persons": Command(
        "commands",
        "Export, import and forget everything that is kept of a person.",
        300,
        "[Everything of a person](memory.md#everything-of-a-person)",
    ),
}
