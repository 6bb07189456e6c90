"""What is done for a run before its turn begins, at every start of it."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from sophon.stores.run_contracts import Run

Prepare: TypeAlias = Callable[[Run], Awaitable[Run]]
"""Gives the run as its turn is to see it; may take its time, and raises nothing that would end the run."""


async def as_it_is(run: Run) -> Run:
    """Nothing is to be done."""
    return run
