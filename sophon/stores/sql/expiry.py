"""Deletion of old rows in small batches, so that other writes run in between."""

from functools import partial
from typing import Any

from sqlalchemy import Column, Connection, Select, delete

from sophon.stores.sql.database import Database

EXPIRE_BATCH_SIZE = 500
"""Rows deleted per transaction."""


async def delete_in_batches(database: Database, column: Column[Any], selected: Select[Any]) -> int:
    """Delete the rows of the table of `column` whose value `selected` returns; return how many.

    They are looked for in a read, which blocks no writer, so rows that are selected must not become worth keeping.
    """
    deleted = 0
    query = selected.limit(EXPIRE_BATCH_SIZE)
    while keys := await database.read(lambda connection: list(connection.execute(query).scalars())):
        deleted += await database.write(partial(_delete, column=column, keys=keys))
    return deleted


def _delete(connection: Connection, column: Column[Any], keys: list[Any]) -> int:
    return connection.execute(delete(column.table).where(column.in_(keys))).rowcount
