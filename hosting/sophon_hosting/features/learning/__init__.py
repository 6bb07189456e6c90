"""What routing has learned: trajectories of turns, averages of models."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "routing": Command(
        "routing_commands",
        "Explain which model a message gets, show what was observed, forget it.",
        210,
        "[Routing](routing.md)",
    ),
    "status": Command(
        "status_commands",
        "Show what messages are routed by, the cost of each tier, and the limits.",
        240,
        "[Routing](routing.md)",
    ),
    "trajectories": Command(
        "trajectory_commands", "List, show and export what is kept of finished turns.", 270, "[Learning](learning.md)"
    ),
}
