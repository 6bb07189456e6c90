"""Simulated process: what its tasks and callbacks have in common; all of them end at once when it is killed."""

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class SimulatedProcess:
    """A process of the simulated world, started by `SimulatedLoop.start_process`.

    All that its tasks create belongs to it. Once it is killed nothing of it runs again: no `finally`, no callback, no
    timer, as after SIGKILL. What it has handed over before that (a statement on its way to the server) is its own,
    too: it happens, or it does not.
    """

    name: str
    steps: int = 0
    """How many of its callbacks have run."""
    dies_at: int | None = None
    """Number of the callback after which it is killed; None: it lives."""
    is_dead: bool = False
    is_stopped: bool = False
    """Whether it stands still, as after SIGSTOP; `SimulatedLoop.stop` does that for a while."""
    waiting: list[asyncio.Handle] = field(default_factory=list[asyncio.Handle], repr=False)
    """What it will run when it goes on."""
    tasks: "set[asyncio.Task[Any]]" = field(default_factory=set["asyncio.Task[Any]"], repr=False)
    """Its tasks that have not ended."""
    kept: list[Any] = field(default_factory=list[Any], repr=False)
    """What it would have run: nothing of it is finalised before the world ends."""


CURRENT_PROCESS: ContextVar[SimulatedProcess | None] = ContextVar("sophon_simulated_process", default=None)
"""The process of the running callback; None outside of all, as the world itself is."""
