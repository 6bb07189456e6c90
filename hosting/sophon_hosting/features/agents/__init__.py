"""Agents that are defined in files, and the sub-agents of tasks."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "agents": Command(
        "commands", "List, show and check agents; list and cancel sub-agents that work.", 310, "[Agents](agents.md)"
    ),
}
