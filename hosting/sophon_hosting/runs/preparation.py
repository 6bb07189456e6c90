"""Preparation hook: awaited for a run before each start of its turn."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from sophon.stores.runs.contract import Run

PrepareRun: TypeAlias = Callable[[Run], Awaitable[Run]]
"""Returns the run as its turn receives it; may be slow, and must not raise an error that would end the run."""


async def prepare_nothing(run: Run) -> Run:
    """Return the run unchanged."""
    return run
