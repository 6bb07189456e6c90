"""Stores: the contracts of everything that outlives a turn, and the in-memory store.

The SQL store is not exported here, because importing it loads SQLAlchemy. Use
`sophon.stores.factory.store_from_url`, or `sophon.stores.sql_store.SqlStore`.
"""

from typing import TYPE_CHECKING

from sophon._python.lazy_names import lazy_names

if TYPE_CHECKING:
    from sophon.stores.contract import Store
    from sophon.stores.in_memory_store import InMemoryStore
    from sophon.stores.memories.contract import MemoryEntry
    from sophon.stores.sessions.contract import SessionRecord
    from sophon.stores.tool_call_journal.contract import JournalEntry
    from sophon.stores.usage.contract import Period, ProviderLimits, Reservation, UsageRow
    from sophon_channels.outbound_entry import OutboundEntry, OutboundStatus
    from sophon_hosting.store.events.contract import LoggedEvent
    from sophon_hosting.store.runs.contract import InboundKey, Run, RunError, RunOutcome

_HOMES = {
    "InMemoryStore": "sophon.stores.in_memory_store",
    "InboundKey": "sophon_hosting.store.runs.contract",
    "JournalEntry": "sophon.stores.tool_call_journal.contract",
    "LoggedEvent": "sophon_hosting.store.events.contract",
    "MemoryEntry": "sophon.stores.memories.contract",
    "OutboundEntry": "sophon_channels.outbound_entry",
    "OutboundStatus": "sophon_channels.outbound_entry",
    "Period": "sophon.stores.usage.contract",
    "ProviderLimits": "sophon.stores.usage.contract",
    "Reservation": "sophon.stores.usage.contract",
    "Run": "sophon_hosting.store.runs.contract",
    "RunError": "sophon_hosting.store.runs.contract",
    "RunOutcome": "sophon_hosting.store.runs.contract",
    "SessionRecord": "sophon.stores.sessions.contract",
    "Store": "sophon.stores.contract",
    "UsageRow": "sophon.stores.usage.contract",
}

__all__ = [
    "InMemoryStore",
    "InboundKey",
    "JournalEntry",
    "LoggedEvent",
    "MemoryEntry",
    "OutboundEntry",
    "OutboundStatus",
    "Period",
    "ProviderLimits",
    "Reservation",
    "Run",
    "RunError",
    "RunOutcome",
    "SessionRecord",
    "Store",
    "UsageRow",
]

__getattr__ = lazy_names(__name__, _HOMES)
