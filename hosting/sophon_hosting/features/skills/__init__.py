"""Skills: list, show, check, install and switch them."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "skills": Command("commands", "List, show, check, install and switch skills.", 320, "[Skills](skills.md)"),
}
