"""Deletion of old rows in small batches, so that other writes run in between."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import Column, Connection, Select, delete, tuple_

from sophon.stores.sql.database import Database

EXPIRE_BATCH_SIZE = 500
"""Rows deleted per transaction."""


async def delete_in_batches(database: Database, column: Column[Any], selected: Select[Any]) -> int:
    """Delete the rows of the table of `column` whose value `selected` returns; return how many. `column` is unique, or
    has few rows for each of its values.

    They are looked for in a read, which blocks no writer, so rows that are selected must not become worth keeping.
    """
    deleted = 0
    query = selected.limit(EXPIRE_BATCH_SIZE)
    while keys := await database.read(lambda connection: list(connection.execute(query).scalars())):
        deleted += await database.write(partial(_delete, column=column, keys=keys))
    return deleted


async def recheck_and_delete_in_batches(database: Database, selected: Select[*tuple[Any, ...]]) -> int:
    """Delete the rows whose key `selected` returns, which are looked for in the transaction that deletes them; return
    how many.

    For rows that somebody may change meanwhile, and for keys that are used again. The table is that of the columns.
    """
    keys = list(selected.selected_columns)
    statement = delete(keys[0].table).where(tuple_(*keys).in_(selected.limit(EXPIRE_BATCH_SIZE)))
    return await write_in_batches(database, lambda connection: connection.execute(statement).rowcount)


async def write_in_batches(database: Database, write_batch: Callable[[Connection], int]) -> int:
    """Run `write_batch` in one transaction after the other until it returns 0; return the sum of what it returns."""
    total = 0
    while more := await database.write(write_batch):
        total += more
    return total


def _delete(connection: Connection, column: Column[Any], keys: list[Any]) -> int:
    return connection.execute(delete(column.table).where(column.in_(keys))).rowcount
