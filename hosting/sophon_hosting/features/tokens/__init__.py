"""Users of the host and their API tokens."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "tokens": Command(
        "commands", "Create, list and revoke API tokens.", 180, "[API tokens](trust-model.md#api-tokens)"
    ),
}
