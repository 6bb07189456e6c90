"""Kinds of runs besides a message to the agent: a tool call of a client, and work that nobody attends."""

from sophon_hosting.store.runs.contract import Run

CALL = "call"
"""Key, in `Run.options`, of the tool call of a client that the run is; missing for a message."""

AUTONOMY = "autonomy"
"""Key, in `Run.options`, of the autonomy of a run that works unattended; missing for any other run."""


def is_direct_call(run: Run) -> bool:
    """Return whether a run is a tool call of a client, and no message to the agent."""
    return CALL in run.options


def is_unattended(run: Run) -> bool:
    """Return whether a run works unattended: nobody wrote it, and a plan that its owner has approved made it."""
    return AUTONOMY in run.options
