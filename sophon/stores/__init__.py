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

_HOMES = {
    "InMemoryStore": "sophon.stores.in_memory_store",
    "JournalEntry": "sophon.stores.tool_call_journal.contract",
    "MemoryEntry": "sophon.stores.memories.contract",
    "Period": "sophon.stores.usage.contract",
    "ProviderLimits": "sophon.stores.usage.contract",
    "Reservation": "sophon.stores.usage.contract",
    "SessionRecord": "sophon.stores.sessions.contract",
    "Store": "sophon.stores.contract",
    "UsageRow": "sophon.stores.usage.contract",
}

__all__ = [
    "InMemoryStore",
    "JournalEntry",
    "MemoryEntry",
    "Period",
    "ProviderLimits",
    "Reservation",
    "SessionRecord",
    "Store",
    "UsageRow",
]

__getattr__ = lazy_names(__name__, _HOMES)
