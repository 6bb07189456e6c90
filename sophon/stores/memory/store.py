"""The nine rooms of a store in memory, tied together."""

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
    """Everything in plain dicts and lists, gone with the process. `clock` dates what is written; the machine's own.

    It belongs to one event loop: no method waits for anything, so that each is atomic without a lock. Closing it
    forgets nothing.
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
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""
