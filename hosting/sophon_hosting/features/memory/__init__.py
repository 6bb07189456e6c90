"""Long-term memory of a person, and the workspace files in the prompts."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "memory": Command(
        "commands",
        "List, search, correct, forget, export and import what is remembered of a person.",
        280,
        "[Memory](memory.md)",
    ),
}
