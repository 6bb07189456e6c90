"""Schedules: messages that the host sends at given times."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "schedules": Command(
        "commands", "List, show, add, pause, resume and remove schedules.", 160, "[Schedules](schedules.md)"
    ),
}

SETTINGS: Final = ("sophon_hosting.features.schedules.settings:SchedulesSettings",)
