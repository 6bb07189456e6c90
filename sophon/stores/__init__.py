"""Stores: the contracts of everything that outlives a turn, and the in-memory store.

The SQL store is not exported here, because importing it loads SQLAlchemy. Use
`sophon.stores.opening.store_from_url`, or `sophon.stores.sql.SqlStore`.
"""

from sophon.stores.contracts import (
    ApprovalRecord,
    ApprovalStore,
    Compaction,
    History,
    Journal,
    JournalEntry,
    ProviderLimits,
    MemoryEntry,
    MemoryStore,
    Period,
    RecordKind,
    Reservation,
    SessionRecord,
    SessionStore,
    SessionSummary,
    Spending,
    Store,
    UsageRow,
    UsageStore,
    UsageTotal,
)
from sophon.stores.event_contracts import EventLog, LoggedEvent
from sophon.stores.memory import InMemoryStore
from sophon.stores.outbound_contracts import OutboundEntry, Outbox, OutboundStatus
from sophon.stores.run_contracts import (
    AcceptResult,
    BeginResult,
    FinishResult,
    InboundKey,
    Run,
    RunError,
    RunOutcome,
    RunStatus,
    RunStore,
)

__all__ = [
    "AcceptResult",
    "ApprovalRecord",
    "ApprovalStore",
    "BeginResult",
    "Compaction",
    "EventLog",
    "FinishResult",
    "History",
    "InMemoryStore",
    "InboundKey",
    "Journal",
    "JournalEntry",
    "ProviderLimits",
    "LoggedEvent",
    "MemoryEntry",
    "MemoryStore",
    "OutboundEntry",
    "Outbox",
    "OutboundStatus",
    "Period",
    "RecordKind",
    "Reservation",
    "Run",
    "RunError",
    "RunOutcome",
    "RunStatus",
    "RunStore",
    "SessionRecord",
    "SessionStore",
    "SessionSummary",
    "Spending",
    "Store",
    "UsageRow",
    "UsageStore",
    "UsageTotal",
]
