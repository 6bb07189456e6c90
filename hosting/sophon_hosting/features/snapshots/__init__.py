"""Copies of files before tool calls: list, compare, restore and verify them."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "snapshots": Command(
        "commands",
        "List, compare, restore and verify the copies of files before tool calls.",
        350,
        "[Snapshots](guards.md#snapshot)",
    ),
}
