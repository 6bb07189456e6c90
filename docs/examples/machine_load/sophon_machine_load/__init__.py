"""The load of the machine of a host."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {"load": Command("commands", "Show how busy the machine of a host is.")}
