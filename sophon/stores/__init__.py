"""Stores: the contracts of everything that outlives a turn, and the in-memory store.

The SQL store is not exported here, because importing it loads SQLAlchemy. Use
`sophon.stores.factory.store_from_url`, or `sophon.stores.sql_store.SqlStore`.
"""

from sophon.stores.api_tokens.contract import ApiToken, ApiTokenStore
from sophon.stores.approvals.contract import ApprovalRecord, ApprovalStore
from sophon.stores.audit.contract import AuditEvent, AuditFilter, AuditStore, AuditVerification
from sophon.stores.contract import Store
from sophon.stores.events.contract import EventLog, LoggedEvent
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.memories.contract import MemoryEntry, MemoryStore
from sophon.stores.outbox.contract import OutboundEntry, OutboundStatus, Outbox
from sophon.stores.runs.contract import (
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
from sophon.stores.runs.staged_writes import LogWrite
from sophon.stores.sessions.contract import Compaction, History, RecordKind, SessionRecord, SessionStore, SessionSummary
from sophon.stores.tool_call_journal.contract import Journal, JournalEntry
from sophon.stores.usage.contract import Period, ProviderLimits, Reservation, Spending, UsageRow, UsageStore, UsageTotal

__all__ = [
    "AcceptResult",
    "ApiToken",
    "ApiTokenStore",
    "ApprovalRecord",
    "ApprovalStore",
    "AuditEvent",
    "AuditFilter",
    "AuditStore",
    "AuditVerification",
    "BeginResult",
    "Compaction",
    "EventLog",
    "FinishResult",
    "History",
    "InMemoryStore",
    "InboundKey",
    "Journal",
    "JournalEntry",
    "LogWrite",
    "LoggedEvent",
    "MemoryEntry",
    "MemoryStore",
    "OutboundEntry",
    "OutboundStatus",
    "Outbox",
    "Period",
    "ProviderLimits",
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
