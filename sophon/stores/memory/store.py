"""The in-memory store, composed of its nine repositories."""

from sophon.clock import Clock, SystemClock
from sophon.stores.memory.approvals import InMemoryApprovalStore
from sophon.stores.memory.entries import InMemoryMemoryStore
from sophon.stores.memory.events import InMemoryEventLog
from sophon.stores.memory.journal import InMemoryJournal
from sophon.stores.memory.notes import InMemoryChannelStateStore
from sophon.stores.memory.outbound import InMemoryOutbox
from sophon.stores.memory.runs import InMemoryRunStore
from sophon.stores.memory.sessions import InMemorySessionStore
from sophon.stores.memory.usage import InMemoryUsageStore
from sophon.stores.run_contracts import Run


class InMemoryStore:
    """Store in plain dicts and lists. `clock` dates what is written; default: the system clock.

    It belongs to one event loop: no method awaits anything, so each is atomic without a lock. Closing it deletes
    nothing.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self.sessions = InMemorySessionStore(clock)
        self.usage = InMemoryUsageStore()
        self.approvals = InMemoryApprovalStore()
        self.journal = InMemoryJournal()
        self.memories = InMemoryMemoryStore(clock)
        self.events = InMemoryEventLog(clock, self.sessions)
        self.channel_state = InMemoryChannelStateStore(clock)
        runs: dict[str, Run] = {}
        self.outbox = InMemoryOutbox(clock, runs)
        self.runs = InMemoryRunStore(clock, runs, self.sessions, self.outbox, self.events)

    async def open(self) -> None:
        """Do nothing: there is nothing to connect to."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
