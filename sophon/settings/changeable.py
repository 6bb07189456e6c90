"""Settings that an operator may change while the host runs: those that each turn reads anew.

What protects (guards, approvals, permissions, users) is not among them: that is changed in the settings file, by
somebody who can read all of it at once. Nor is what is built once at the start, such as queue, store and channels.
"""

from typing import Final

CHANGEABLE: Final[tuple[str, ...]] = (
    "AgentExecution.MaxToolIterations",
    "AgentExecution.MaxExecutionTime",
    "AgentExecution.PlanMaxSteps",
    "Budget.Turn.Tokens",
    "Budget.Turn.Cost",
    "Budget.Turn.ToolCalls",
    "Budget.Turn.ActiveTime",
    "ContextWindow.Trigger",
    "Planning.Mode",
    "Planning.MaxDepth",
    "ToolFilter.Top",
    "Logging.Level",
)
"""Paths below `Sophon`. A change holds for the turns that start after it, that of the log level at once."""


def split_changeable(path: str) -> tuple[str, ...] | None:
    """Return the parts of a path that may be changed; None for any other."""
    return tuple(path.split(".")) if path in CHANGEABLE else None
