"""SQL store of long-term memory entries. Ranking happens in Python, so that every store returns the same results."""

from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.memory.search import rank_entries
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema import memories


class SqlMemoryStore:
    """The memory entries of an `SqlStore`; see `MemoryStore`. A search reads all entries of the scope."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def write(self, entry: MemoryEntry) -> None:
        """See `MemoryStore.write`."""
        dated = entry if entry.created_at else replace(entry, created_at=self._clock.now())
        await self._database.write(partial(_write, entry=dated))

    async def search(self, query: str, *, scope: str | None = None, limit: int = 10) -> list[MemoryEntry]:
        """See `MemoryStore.search`."""
        return await self._database.read(lambda connection: rank_entries(query, _all(connection, scope), limit))

    async def delete(self, entry_id: str) -> None:
        """See `MemoryStore.delete`."""
        await self._database.write(partial(_delete, entry_id=entry_id))

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_all`."""
        return await self._database.read(partial(_all, scope=scope))


def _write(connection: Connection, entry: MemoryEntry) -> None:
    # A replaced entry counts as new and gets the next number.
    connection.execute(delete(memories).where(memories.c.id == entry.id))
    connection.execute(
        insert(memories),
        {
            "id": entry.id,
            "scope": entry.scope,
            "category": entry.category,
            "text": entry.text,
            "origin": entry.origin,
            "created_at": entry.created_at,
            "sources": None if entry.sources is None else list(entry.sources),
        },
    )


def _delete(connection: Connection, entry_id: str) -> None:
    if not connection.execute(delete(memories).where(memories.c.id == entry_id)).rowcount:
        raise NotFound("memory entry", entry_id)


def _all(connection: Connection, scope: str | None) -> list[MemoryEntry]:
    query = select(memories).order_by(memories.c.created_at, memories.c.number)
    wanted = query if scope is None else query.where(memories.c.scope == scope)
    return [_entry(row) for row in connection.execute(wanted)]


def _entry(row: Row[Any]) -> MemoryEntry:
    sources = None if row.sources is None else tuple(row.sources)
    return MemoryEntry(row.id, row.text, row.category, row.scope, row.origin, row.created_at, sources)
