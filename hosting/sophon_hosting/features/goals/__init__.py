"""Goals: plans that the host works on in steps."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "goals": Command(
        "commands", "List, show, create and delete goals; pause, resume and cancel them.", 140, "[Goals](goals.md)"
    ),
}

SETTINGS: Final = ("sophon_hosting.features.goals.settings:GoalsSettings",)
