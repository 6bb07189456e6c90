"""Stores: the contracts of everything that outlives a turn, and the in-memory store.

The SQL store is not exported here, because importing it loads SQLAlchemy. Use
`sophon.stores.factory.store_from_url`, or `sophon.stores.sql_store.SqlStore`.
"""

from typing import TYPE_CHECKING

from sophon._python.lazy_names import lazy_names

if TYPE_CHECKING:
    from sophon.stores.api_tokens.contract import ApiToken
    from sophon.stores.api_tokens.sql import ApiTokenStore
    from sophon.stores.approvals.contract import ApprovalRecord
    from sophon.stores.approvals.sql import ApprovalStore
    from sophon.stores.audit.contract import AuditEvent, AuditFilter, AuditVerification
    from sophon.stores.audit.sql import AuditStore
    from sophon.stores.contract import Store
    from sophon.stores.events.contract import LoggedEvent, LogPosition
    from sophon.stores.events.sql import EventLog
    from sophon.stores.in_memory_store import InMemoryStore
    from sophon.stores.leases.contract import Lease
    from sophon.stores.leases.sql import LeaseStore
    from sophon.stores.memories.contract import MemoryEntry, MemoryStore
    from sophon.stores.outbound_entry import OutboundEntry, OutboundStatus
    from sophon.stores.outbox.sql import Outbox
    from sophon.stores.runs.contract import (
        AcceptResult,
        BeginResult,
        FinishResult,
        InboundKey,
        LogWrite,
        Run,
        RunError,
        RunOutcome,
        RunStatus,
        RunStore,
    )
    from sophon.stores.sessions.contract import (
        Compaction,
        History,
        RecordKind,
        SessionRecord,
        SessionStore,
        SessionSummary,
    )
    from sophon.stores.tool_call_journal.contract import Journal, JournalEntry
    from sophon.stores.usage.contract import (
        Period,
        ProviderLimits,
        Reservation,
        Spending,
        UsageRow,
        UsageStore,
        UsageTotal,
    )

_HOMES = {
    "AcceptResult": "sophon.stores.runs.contract",
    "ApiToken": "sophon.stores.api_tokens.contract",
    "ApiTokenStore": "sophon.stores.api_tokens.sql",
    "ApprovalRecord": "sophon.stores.approvals.contract",
    "ApprovalStore": "sophon.stores.approvals.sql",
    "AuditEvent": "sophon.stores.audit.contract",
    "AuditFilter": "sophon.stores.audit.contract",
    "AuditStore": "sophon.stores.audit.sql",
    "AuditVerification": "sophon.stores.audit.contract",
    "BeginResult": "sophon.stores.runs.contract",
    "Compaction": "sophon.stores.sessions.contract",
    "EventLog": "sophon.stores.events.sql",
    "FinishResult": "sophon.stores.runs.contract",
    "History": "sophon.stores.sessions.contract",
    "InMemoryStore": "sophon.stores.in_memory_store",
    "InboundKey": "sophon.stores.runs.contract",
    "Journal": "sophon.stores.tool_call_journal.contract",
    "JournalEntry": "sophon.stores.tool_call_journal.contract",
    "Lease": "sophon.stores.leases.contract",
    "LeaseStore": "sophon.stores.leases.sql",
    "LogWrite": "sophon.stores.runs.contract",
    "LogPosition": "sophon.stores.events.contract",
    "LoggedEvent": "sophon.stores.events.contract",
    "MemoryEntry": "sophon.stores.memories.contract",
    "MemoryStore": "sophon.stores.memories.contract",
    "OutboundEntry": "sophon.stores.outbound_entry",
    "OutboundStatus": "sophon.stores.outbound_entry",
    "Outbox": "sophon.stores.outbox.sql",
    "Period": "sophon.stores.usage.contract",
    "ProviderLimits": "sophon.stores.usage.contract",
    "RecordKind": "sophon.stores.sessions.contract",
    "Reservation": "sophon.stores.usage.contract",
    "Run": "sophon.stores.runs.contract",
    "RunError": "sophon.stores.runs.contract",
    "RunOutcome": "sophon.stores.runs.contract",
    "RunStatus": "sophon.stores.runs.contract",
    "RunStore": "sophon.stores.runs.contract",
    "SessionRecord": "sophon.stores.sessions.contract",
    "SessionStore": "sophon.stores.sessions.contract",
    "SessionSummary": "sophon.stores.sessions.contract",
    "Spending": "sophon.stores.usage.contract",
    "Store": "sophon.stores.contract",
    "UsageRow": "sophon.stores.usage.contract",
    "UsageStore": "sophon.stores.usage.contract",
    "UsageTotal": "sophon.stores.usage.contract",
}

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
    "Lease",
    "LeaseStore",
    "LogPosition",
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

__getattr__ = lazy_names(__name__, _HOMES)
