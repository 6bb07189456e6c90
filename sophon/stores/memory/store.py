"""The in-memory store, composed of its nine repositories."""

from sophon.clock import Clock, SystemClock
from sophon.stores.memory.approvals import InMemoryApprovals
from sophon.stores.memory.entries import InMemoryEntries
from sophon.stores.memory.events import InMemoryEvents
from sophon.stores.memory.journal import InMemoryJournal
from sophon.stores.memory.notes import InMemoryNotes
from sophon.stores.memory.outbound import InMemoryOutbound
from sophon.stores.memory.runs import InMemoryRuns
from sophon.stores.memory.sessions import InMemorySessions
from sophon.stores.memory.usage import InMemoryUsage
from sophon.stores.run_contracts import Run


class InMemoryStore:
    """Store in plain dicts and lists. `clock` dates what is written; default: the system clock.

    It belongs to one event loop: no method awaits anything, so each is atomic without a lock. Closing it deletes
    nothing.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self.sessions = InMemorySessions(clock)
        self.usage = InMemoryUsage()
        self.approvals = InMemoryApprovals()
        self.journal = InMemoryJournal()
        self.memory = InMemoryEntries(clock)
        self.events = InMemoryEvents(clock, self.sessions)
        self.notes = InMemoryNotes(clock)
        runs: dict[str, Run] = {}
        self.outbound = InMemoryOutbound(clock, runs)
        self.runs = InMemoryRuns(clock, runs, self.sessions, self.outbound, self.events)

    async def open(self) -> None:
        """Do nothing: there is nothing to connect to."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
