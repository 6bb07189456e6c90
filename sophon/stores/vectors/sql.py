"""SQL vectors: a row per vector, with its numbers as a blob."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    RowMapping,
    Select,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    type_coerce,
)

from sophon.stores.sql.batched_deletion import recheck_and_delete_in_batches
from sophon.stores.sql.column_types import load_json
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository, in_parts
from sophon.stores.sql.schema import vectors
from sophon.stores.unit_of_work import WriteKind
from sophon.stores.vectors.contract import VectorRow

_COLUMNS = (
    *(vectors.c.namespace, vectors.c.key, vectors.c.embedder, vectors.c.dimensions, vectors.c.blob),
    # As text: what cannot be parsed must not keep the other rows from being read.
    *(type_coerce(vectors.c.data, Text).label("data"), vectors.c.at, vectors.c.session_id),
)
_NAMES = [column.name for column in _COLUMNS]
# Before each search of the memory it is asked what is new, and mostly nothing is.
_LOAD_AFTER = PreparedStatement(
    lambda _: (
        select(*_COLUMNS, vectors.c.number)
        .where(vectors.c.namespace == bindparam("which"), vectors.c.embedder == bindparam("by"))
        .where(vectors.c.number > bindparam("after"))
        .order_by(vectors.c.number)
        .limit(bindparam("most", type_=Integer))
        .offset(literal_column("0"))  # SQLite's dialect would add a parameter of its own
    )
)


class SqlVectorStore(Repository):
    """The vectors of an `SqlStore`; see `VectorStore`."""

    async def put(self, rows: Sequence[VectorRow]) -> None:
        """See `VectorStore.put`."""
        if rows:
            await self._database.add(WriteKind.VECTOR, partial(put_vectors, rows=tuple(rows)))

    async def load(self, namespace: str, embedder: str, limit: int) -> list[VectorRow]:
        """See `VectorStore.load`."""
        query = (
            select(*_COLUMNS)
            .where(vectors.c.namespace == namespace, vectors.c.embedder == embedder)
            .order_by(vectors.c.number.desc())
            .limit(max(limit, 0))
        )
        rows = await self._database.read(lambda connection: connection.execute(query).mappings().all())
        return [_to_row(row) for row in reversed(rows)]

    async def list_versions(self, namespace: str, embedder: str, limit: int) -> dict[str, int]:
        """See `VectorStore.list_versions`."""
        query = (
            select(vectors.c.key, vectors.c.number)
            .where(vectors.c.namespace == namespace, vectors.c.embedder == embedder)
            .order_by(vectors.c.number.desc())
            .limit(max(limit, 0))
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return {str(row.key): int(row.number) for row in reversed(rows)}

    async def load_keys(self, namespace: str, embedder: str, keys: Sequence[str]) -> list[VectorRow]:
        """See `VectorStore.load_keys`."""
        query = select(*_COLUMNS, vectors.c.number).where(
            vectors.c.namespace == namespace, vectors.c.embedder == embedder
        )

        def read(connection: Connection) -> list[RowMapping]:
            found: list[RowMapping] = []
            for part in in_parts(keys):
                found += connection.execute(query.where(vectors.c.key.in_(part))).mappings().all()
            return sorted(found, key=lambda row: row["number"])

        return [_to_row(row) for row in await self._database.read(read)]

    async def load_after(self, namespace: str, embedder: str, number: int, limit: int) -> tuple[list[VectorRow], int]:
        """See `VectorStore.load_after`."""
        values = {"which": namespace, "by": embedder, "after": number, "most": max(limit, 0)}
        rows = await self._database.read(lambda connection: list(_LOAD_AFTER.fetch_rows(connection, values)))
        return [_to_row(dict(zip(_NAMES, row, strict=False))) for row in rows], rows[-1][-1] if rows else number

    async def delete(self, namespace: str, keys: Sequence[str] | None = None) -> None:
        """See `VectorStore.delete`."""
        await self._database.add(
            WriteKind.VECTOR, partial(delete_vectors, namespace=namespace, keys=None if keys is None else tuple(keys))
        )

    async def count(self, namespace: str) -> int:
        """See `VectorStore.count`."""
        query = select(func.count()).where(vectors.c.namespace == namespace)
        return await self._database.read(lambda connection: connection.execute(query).scalar_one())

    async def expire(self, namespace: str, before: datetime | None, keep: int) -> int:
        """See `VectorStore.expire`. Uses a transaction per batch."""
        old = await self._database.read(partial(_find_old, namespace=namespace, before=before, keep=keep))
        return await recheck_and_delete_in_batches(self._database, old) if old is not None else 0


def put_vectors(connection: Connection, rows: Sequence[VectorRow]) -> None:
    """Store vectors in their order, in the caller's transaction."""
    for row in rows:
        # A replaced one counts as new and gets the next number.
        delete_vectors(connection, row.namespace, (row.key,))
        connection.execute(insert(vectors), {name: getattr(row, name) for name in _NAMES})


def delete_vectors(connection: Connection, namespace: str, keys: Sequence[str] | None = None) -> int:
    """Delete vectors, by default all of the namespace, in the caller's transaction; return how many."""
    rows = vectors.c.namespace == namespace
    if keys is None:
        return connection.execute(delete(vectors).where(rows)).rowcount
    return sum(
        connection.execute(delete(vectors).where(rows, vectors.c.key.in_(part))).rowcount for part in in_parts(keys)
    )


def _find_old(connection: Connection, namespace: str, before: datetime | None, keep: int) -> Select[tuple[int]] | None:
    """Return the query of the rows that expire; None if none does. A vector that is put again has another number."""
    numbers = select(vectors.c.number).where(vectors.c.namespace == namespace).order_by(vectors.c.number.desc())
    first_dropped = connection.execute(numbers.offset(max(keep, 0)).limit(1)).scalar_one_or_none()
    conditions: list[Any] = []
    if first_dropped is not None:
        conditions.append(vectors.c.number <= first_dropped)
    if before is not None:
        conditions.append(vectors.c.at < before)
    if not conditions:
        return None
    is_old = (vectors.c.namespace == namespace) & or_(*conditions)
    return select(vectors.c.number).where(is_old).order_by(vectors.c.number)


def _to_row(row: Mapping[str, Any] | RowMapping) -> VectorRow:
    try:
        data = load_json(row["data"])
    except ValueError:
        data = None
    own: dict[str, Any] = {name: row[name] for name in _NAMES}
    own["blob"], own["data"] = bytes(own["blob"]), data
    return VectorRow(**own)
