"""Features of the host, a package each; its `results` are the JSON that its operations return."""

from typing import Final

FEATURES: Final = (
    "sessions",
    "imports",
    "attachments",
    "tasks",
    "approvals",
    "agents",
    "goals",
    "memory",
    "persons",
    "preferences",
    "schedules",
    "host",
    "channels",
    "providers",
    "queue",
    "mcp",
    "webhooks",
    "tokens",
    "settings",
    "tools",
    "traces",
    "guards",
    "learning",
    "usage",
    "skills",
    "snapshots",
    "openai_api",
    "post_turn",
)
"""Packages of this package, in the order of the documentation, each with an object FEATURE in `feature.py`.

Names and no imports: a feature may ask for all of them, as the list of the tools of a host does, and the command line
reads the commands of each, COMMANDS in its package, as settings are read with its sections, SETTINGS in its package.
"""

FEATURES_GROUP: Final = "sophon.features"
"""Group of the entry points of other distributions, each a `Feature`."""
