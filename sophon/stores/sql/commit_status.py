"""Whether a transaction was committed whose COMMIT got no answer, because the connection broke meanwhile.

PostgreSQL keeps the status of each transaction under its id, also across a restart: `txid_status`, PostgreSQL 10,
section 9.26.8 (Transaction ID and Snapshot Information Functions). A local database always answers.
"""

from typing import Literal, TypeAlias

from sqlalchemy import Connection, Engine

from sophon.stores.sql.dialects import TRANSACTION_ID

CommitStatus: TypeAlias = Literal["committed", "aborted", "in progress"]


def read_transaction_id(connection: Connection) -> int | None:
    """Return the id of the open write transaction; None if its commit cannot be in doubt."""
    found = connection.info.get(TRANSACTION_ID)
    return None if found is None else int(found)


def read_commit_status(engine: Engine, transaction_id: int) -> CommitStatus | None:
    """Return the status of a transaction; None if the server no longer knows it. Raises the errors of the driver."""
    # Not `engine.begin()`: the write lock may still be held by that very transaction.
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(f"SELECT txid_status({transaction_id})")
        row = cursor.fetchone()
        cursor.close()
    finally:
        connection.close()
    return None if row is None else row[0]
