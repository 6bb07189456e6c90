"""The in-memory store, composed of its ten repositories."""

from sophon.clock import Clock, SystemClock
from sophon.stores.approvals.in_memory import InMemoryApprovalStore
from sophon.stores.channel_state.in_memory import InMemoryChannelStateStore
from sophon.stores.events.in_memory import InMemoryEventLog
from sophon.stores.health import StoreHealth
from sophon.stores.maintenance.in_memory import InMemoryMaintenance
from sophon.stores.memories.in_memory import InMemoryMemoryStore
from sophon.stores.outbox.in_memory import InMemoryOutbox
from sophon.stores.runs.contract import Run
from sophon.stores.runs.in_memory import InMemoryRunStore
from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.texts.in_memory import InMemoryTextStore
from sophon.stores.tool_call_journal.in_memory import InMemoryJournal
from sophon.stores.usage.in_memory import InMemoryUsageStore


class InMemoryStore:
    """Store in plain dicts and lists. `clock` dates what is written; default: the system clock.

    It belongs to one event loop: no method awaits anything, so each is atomic without a lock. Closing it deletes
    nothing.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self.sessions = InMemorySessionStore(clock)
        self.usage = InMemoryUsageStore()
        self.sessions.on_delete(self.usage.forget_session)
        runs: dict[str, Run] = {}
        self.journal = InMemoryJournal(runs)
        self.memories = InMemoryMemoryStore(clock)
        self.texts = InMemoryTextStore(self.sessions.__contains__)
        self.sessions.on_delete(self.texts.forget_session)
        self.events = InMemoryEventLog(clock, self.sessions, self.texts)
        self.channel_state = InMemoryChannelStateStore(clock)
        self.health = StoreHealth("memory://")
        self.maintenance = InMemoryMaintenance()
        self.outbox = InMemoryOutbox(clock, runs, self.events)
        self.runs = InMemoryRunStore(clock, runs, self.sessions, self.outbox, self.events)
        self.approvals = InMemoryApprovalStore(runs, self.runs.signal)

    async def open(self) -> None:
        """Do nothing: there is nothing to connect to."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
