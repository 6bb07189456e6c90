"""Providers of models: health, keys, models."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "models": Command(
        "model_commands", "List the models of the settings, with prices and capabilities.", 40, "[Models](models.md)"
    ),
    "providers": Command(
        "commands", "List the providers of a host and their cool-downs, and reset one.", 200, "[Models](models.md)"
    ),
}
