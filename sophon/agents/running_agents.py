"""The sub-agents that run in this process, and their cancellation."""

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field
from datetime import datetime

from sophon._python.lazy_dataclass import dataclass


@dataclass(slots=True, eq=False)
class RunningAgent:
    """A sub-agent that runs: its run id, whose it is, and the asyncio task of its turn once that has begun."""

    id: str
    agent: str
    task_id: str
    parent_id: str
    session_id: str
    principal: str
    started_at: datetime
    work: "asyncio.Task[object] | None" = field(default=None, repr=False)
    is_cancel_requested: bool = False

    def cancel(self) -> None:
        """Cancel it, its own sub-agents first; the turn that runs it goes on."""
        self.is_cancel_requested = True
        if self.work is not None:
            self.work.cancel()


class RunningAgents:
    """The running sub-agents of a process by run id, in the order of their start."""

    def __init__(self) -> None:
        self._by_id: dict[str, RunningAgent] = {}
        self._opened: Counter[str] = Counter()

    def add(self, running: RunningAgent) -> None:
        """Add a sub-agent that begins."""
        self._by_id[running.id] = running

    def remove(self, running: RunningAgent) -> None:
        """Remove a sub-agent that has ended."""
        if self._by_id.get(running.id) is running:
            del self._by_id[running.id]

    @contextmanager
    def opened(self, principal: str) -> Generator[None]:
        """Count a sub-agent of a person from its beginning on, while it waits for its slot as well."""
        self._opened[principal] += 1
        try:
            yield
        finally:
            self._opened[principal] -= 1
            if not self._opened[principal]:
                del self._opened[principal]

    def count_opened(self, principal: str) -> int:
        """Return how many sub-agents of a person have begun and not ended."""
        return self._opened[principal]

    def find(self, agent_id: str) -> RunningAgent | None:
        """Return a running sub-agent, None if it does not run here."""
        return self._by_id.get(agent_id)

    def list(self, *, principal: str | None = None, task_id: str | None = None) -> "list[RunningAgent]":
        """Return the running sub-agents of a person, or of a turn."""
        return [
            each
            for each in self._by_id.values()
            if principal in (None, each.principal) and task_id in (None, each.task_id)
        ]
