"""In-memory store of long-term memory entries."""

from dataclasses import replace
from datetime import datetime

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.memory.search import rank_entries
from sophon.stores.memories.contract import MemoryEntry


class InMemoryMemoryStore:
    """The memory entries of an `InMemoryStore`; see `MemoryStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, MemoryEntry] = {}

    async def write(self, entry: MemoryEntry) -> None:
        """See `MemoryStore.write`."""
        self._entries.pop(entry.id, None)
        self._entries[entry.id] = entry if entry.created_at else replace(entry, created_at=self._clock.now())

    async def search(self, query: str, *, scope: str | None = None, limit: int = 10) -> list[MemoryEntry]:
        """See `MemoryStore.search`."""
        return rank_entries(query, await self.list_all(scope=scope), limit)

    async def delete(self, entry_id: str) -> None:
        """See `MemoryStore.delete`."""
        if self._entries.pop(entry_id, None) is None:
            raise NotFound("memory entry", entry_id)

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_all`."""
        found = [entry for entry in self._entries.values() if scope is None or entry.scope == scope]
        return sorted(found, key=_created_at)


def _created_at(entry: MemoryEntry) -> datetime:
    assert entry.created_at is not None
    return entry.created_at
