"""Usage: tokens and cost by day, limits, turns per day."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "usage": Command("commands", "Show token usage and cost.", 250),
}
