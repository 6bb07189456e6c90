"""SQL store of long-term memory entries. The database finds entries by their words; Python ranks what it found."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, text, true

from sophon.errors import NotFound
from sophon.memory.full_text_scan import rank_entries
from sophon.memory.keyword_search import index_words, search_words
from sophon.memory.relations import Relation
from sophon.stores.memories import sqlite_index
from sophon.stores.memories.contract import MemoryEntry, MemoryReader, vector_namespace
from sophon.stores.memories.word_index import SqlWordIndex
from sophon.stores.sql.column_types import dump_json, escape_text
from sophon.stores.sql.fts5_damage import IndexDamaged
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import memories
from sophon.stores.vectors.contract import VectorRow
from sophon.stores.vectors.sql import delete_vectors, put_vectors

T = TypeVar("T")

_ENTRIES = select(
    *(memories.c.id, memories.c.text, memories.c.category, memories.c.scope, memories.c.origin, memories.c.created_at),
    *(memories.c.sources, memories.c.reach, memories.c.agent, memories.c.session_id, memories.c.entities),
    *(memories.c.relations, memories.c.number),
)
_BY_NUMBERS = PreparedStatement(
    lambda dialect: _ENTRIES.where(
        text(
            "memories.number IN (SELECT value FROM json_each(:numbers))"
            if dialect == "sqlite"
            else "memories.number IN "
            "(SELECT CAST(value AS BIGINT) FROM jsonb_array_elements_text(CAST(:numbers AS jsonb)))"
        )
    )
)
_BY_IDS = PreparedStatement(
    lambda dialect: _ENTRIES.where(
        text(
            "memories.id IN (SELECT value FROM json_each(:ids))"
            if dialect == "sqlite"
            else "memories.id IN (SELECT value FROM jsonb_array_elements_text(CAST(:ids AS jsonb)))"
        )
    )
)
_NEW_WORDS = text("UPDATE memories SET words = :new WHERE number = :changed")


class SqlMemoryStore(Repository):
    """The memory entries of an `SqlStore`; see `MemoryStore`.

    A PostgreSQL server decides itself when the space of a deleted entry is overwritten.
    """

    async def write(self, entry: MemoryEntry, vector: VectorRow | None = None) -> None:
        """See `MemoryStore.write`."""
        dated = entry if entry.created_at else replace(entry, created_at=self._clock.now())
        await self._database.write(partial(_write, entry=dated, vector=vector))

    async def search(
        self, query: str, *, scope: str | None = None, limit: int = 10, reader: MemoryReader | None = None
    ) -> list[MemoryEntry]:
        """See `MemoryStore.search`. A damaged index is rebuilt."""
        if not query.strip():
            return await self._database.read(partial(_newest, scope=scope, limit=limit, reader=reader))
        search = partial(_search, query=query, scope=scope, limit=limit, reader=reader)
        found = await self._database.read(_or_damage(search))
        if not isinstance(found, IndexDamaged):
            return found
        damage = found
        if await self._database.write(partial(_repair, damage=damage)):
            found = await self._database.read(_or_damage(search))
        if not isinstance(found, IndexDamaged):
            return found
        return await self._database.read(partial(_scan, query=query, scope=scope, limit=limit, reader=reader))

    async def find(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        """See `MemoryStore.find`."""
        return await self._database.read(partial(_find, ids=tuple(ids))) if ids else {}

    async def list_linked(self, *, scope: str, limit: int, reader: MemoryReader | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_linked`."""
        query = (
            _ENTRIES.where(_visible(scope, reader), memories.c.entities.is_not(None))
            .order_by(memories.c.number.desc())
            .limit(max(limit, 0))
        )
        return await self._database.read(lambda connection: [_to_entry(row) for row in connection.execute(query)])

    async def count(self, *, scope: str | None = None) -> int:
        """See `MemoryStore.count`."""
        return await self._database.read(partial(_count, scope=scope))

    async def delete(self, entry_id: str) -> None:
        """See `MemoryStore.delete`."""
        if not await self._database.write(partial(_delete, where=memories.c.id == entry_id)):
            raise NotFound("memory entry", entry_id)
        await self._database.clear_log()

    async def delete_all(self, *, scope: str) -> int:
        """See `MemoryStore.delete_all`."""
        count = await self._database.write(partial(_delete_scope, scope=scope))
        await self._database.clear_log()
        return count

    async def find_index_damage(self) -> str:
        """See `MemoryStore.find_index_damage`. PostgreSQL's is part of its own checks."""
        return await self._database.write(_find_index_damage)

    async def rebuild_index(self) -> int:
        """See `MemoryStore.rebuild_index`."""
        return await self._database.write(_rebuild_index)

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_all`."""
        return await self._database.read(partial(_all, scope=scope))


def delete_session_memories(connection: Connection, session_id: str) -> None:
    """Delete the entries of a session that is deleted, in the caller's transaction."""
    _delete(connection, memories.c.session_id == session_id)


def _or_damage(work: Callable[..., T]) -> Callable[[Connection], "T | IndexDamaged"]:
    """Return `work` with a damaged index as result: as an error it would be one of the whole database."""

    def run(connection: Connection) -> T | IndexDamaged:
        try:
            return work(connection)
        except IndexDamaged as damage:
            return damage

    return run


def _find_index_damage(connection: Connection) -> str:
    if connection.dialect.name != "sqlite" or not sqlite_index.has_fts5(connection) or not _count(connection, None):
        return ""
    return sqlite_index.find_damage(connection)


def _rebuild_index(connection: Connection) -> int:
    query = select(memories.c.number, memories.c.scope, memories.c.text, memories.c.words)
    rows = connection.execute(query).all()
    made = [(row, " ".join(index_words(row.text, row.scope))) for row in rows]
    changed = [{"changed": row.number, "new": words} for row, words in made if words != row.words]
    if changed:
        connection.execute(_NEW_WORDS, changed)
    if connection.dialect.name == "sqlite":
        sqlite_index.rebuild(connection)
    else:
        connection.execute(text("REINDEX INDEX memories_by_words"))
    return len(rows)


def _repair(connection: Connection, damage: IndexDamaged) -> bool:
    """Rebuild the index; return whether there is one then."""
    if not sqlite_index.has_fts5(connection):
        return False
    sqlite_index.repair(connection, damage)
    return True


def _search(
    connection: Connection, query: str, scope: str | None, limit: int, reader: MemoryReader | None
) -> list[MemoryEntry]:
    index = SqlWordIndex(connection, scope, reader)
    numbers = search_words(query, index, limit) if index.exists() else []
    if not numbers and not index.knows_entries() and _count(connection, scope):
        raise IndexDamaged("it knows none of the entries")
    return _load(connection, numbers)


def _scan(
    connection: Connection, query: str, scope: str | None, limit: int, reader: MemoryReader | None
) -> list[MemoryEntry]:
    found = [each for each in _all(connection, scope) if reader is None or reader.may_see(each)]
    return rank_entries(query, found, limit)


def _newest(connection: Connection, scope: str | None, limit: int, reader: MemoryReader | None) -> list[MemoryEntry]:
    order = (memories.c.created_at.desc(), memories.c.number.desc())
    query = _ENTRIES.where(_visible(scope, reader)).order_by(*order).limit(max(limit, 0))
    return [_to_entry(row) for row in connection.execute(query)]


def _write(connection: Connection, entry: MemoryEntry, vector: VectorRow | None) -> None:
    _delete(connection, memories.c.id == entry.id, is_replaced=True)
    words = " ".join(index_words(entry.text, entry.scope))
    # A replaced entry counts as new and gets the next number.
    result = connection.execute(
        insert(memories),
        {
            "id": entry.id,
            "scope": entry.scope,
            "category": entry.category,
            "text": entry.text,
            "origin": entry.origin,
            "created_at": entry.created_at,
            "sources": None if entry.sources is None else list(entry.sources),
            "reach": entry.reach,
            "agent": entry.agent,
            "session_id": entry.session_id,
            "entities": list(entry.entities) or None,
            "relations": [[each.subject, each.name, each.object] for each in entry.relations] or None,
            "words": words,
        },
    )
    if connection.dialect.name == "sqlite":
        assert result.inserted_primary_key is not None
        sqlite_index.add_words(connection, result.inserted_primary_key[0], words)
    if vector is not None:
        put_vectors(connection, [vector])


def _delete_scope(connection: Connection, scope: str) -> int:
    count = _delete(connection, memories.c.scope == scope)
    delete_vectors(connection, vector_namespace(scope))
    return count


def _delete(connection: Connection, where: ColumnElement[bool], *, is_replaced: bool = False) -> int:
    """Delete entries with their words and vectors; return how many."""
    rows = connection.execute(
        select(memories.c.number, memories.c.id, memories.c.scope, memories.c.words).where(where)
    ).all()
    if not rows:
        return 0
    is_sqlite = connection.dialect.name == "sqlite"
    connection.execute(delete(memories).where(where))
    by_scope: dict[str, list[str]] = {}
    for row in rows:
        by_scope.setdefault(row.scope, []).append(row.id)
    for scope, ids in by_scope.items():
        delete_vectors(connection, vector_namespace(scope), ids)
    if is_sqlite and is_replaced:
        sqlite_index.replace_words(connection, rows[0].number, rows[0].words)
    elif is_sqlite:
        sqlite_index.remove_words(connection, [(row.number, row.words) for row in rows])
    return len(rows)


def _find(connection: Connection, ids: Sequence[str]) -> dict[str, MemoryEntry]:
    rows = _BY_IDS.fetch_rows(connection, {"ids": dump_json([escape_text(each) for each in ids])})
    found = {entry.id: entry for entry in (_to_entry(row) for row in rows)}
    return {each: found[each] for each in ids if each in found}


def _load(connection: Connection, numbers: Sequence[int]) -> list[MemoryEntry]:
    """Return entries by their numbers, in that order."""
    if not numbers:
        return []
    rows = _BY_NUMBERS.fetch_rows(connection, {"numbers": dump_json(list(numbers))})
    by_number = {row[-1]: _to_entry(row) for row in rows}
    return [by_number[number] for number in numbers]


def _count(connection: Connection, scope: str | None) -> int:
    query = select(func.count()).select_from(memories)
    return connection.execute(query if scope is None else query.where(memories.c.scope == scope)).scalar_one()


def _all(connection: Connection, scope: str | None) -> list[MemoryEntry]:
    query = _ENTRIES.order_by(memories.c.created_at, memories.c.number)
    wanted = query if scope is None else query.where(memories.c.scope == scope)
    return [_to_entry(row) for row in connection.execute(wanted)]


def _visible(scope: str | None, reader: MemoryReader | None) -> ColumnElement[bool]:
    """Return the condition of what a search may see: see `MemoryReader.may_see`."""
    of_scope = true() if scope is None else memories.c.scope == scope
    if reader is None:
        return of_scope
    of_session = and_(memories.c.reach == "session", memories.c.session_id == reader.session_id)
    if reader.only_session:
        return and_(of_scope, of_session)
    of_agent = and_(memories.c.reach == "agent", memories.c.agent == reader.agent)
    return and_(of_scope, or_(memories.c.reach == "owner", of_agent, of_session))


def _to_entry(values: Sequence[Any]) -> MemoryEntry:
    """Return the entry of a row of `_ENTRIES`."""
    *first, sources, reach, agent, session_id, entities, relations, _ = values
    entry_id, text_, category, scope, origin, created_at = first
    return MemoryEntry(
        entry_id,
        text_,
        category,
        scope,
        origin,
        created_at,
        None if sources is None else tuple(sources),
        reach,
        agent,
        session_id,
        tuple(entities or ()),
        tuple(Relation(*each) for each in relations or ()),
    )
