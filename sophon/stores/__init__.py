"""Where conversations, books, questions, journal and memory are kept: the contracts, and the store in memory.

The SQL store is not exported here: importing it loads SQLAlchemy, which nobody should pay for who does not use it. It
is reached by `sophon.stores.opening.store_from_url`, or as `sophon.stores.sql.SqlStore`.
"""

from sophon.stores.contracts import (
    ApprovalRecord,
    ApprovalStore,
    Compaction,
    History,
    Journal,
    JournalEntry,
    Limits,
    MemoryEntry,
    MemoryStore,
    Period,
    RecordKind,
    Reservation,
    SessionRecord,
    SessionStore,
    SessionSummary,
    Spent,
    Store,
    UsageRow,
    UsageStore,
    UsageTotal,
)
from sophon.stores.memory import InMemoryStore

__all__ = [
    "ApprovalRecord",
    "ApprovalStore",
    "Compaction",
    "History",
    "InMemoryStore",
    "Journal",
    "JournalEntry",
    "Limits",
    "MemoryEntry",
    "MemoryStore",
    "Period",
    "RecordKind",
    "Reservation",
    "SessionRecord",
    "SessionStore",
    "SessionSummary",
    "Spent",
    "Store",
    "UsageRow",
    "UsageStore",
    "UsageTotal",
]
