"""Truncation of SQLite's write-ahead log, which holds copies of pages until it is written again from its beginning."""

from contextlib import closing

from sqlalchemy.engine.interfaces import DBAPIConnection

CHECKPOINT_TIMEOUT_MS = 100
"""How long truncating the write-ahead log waits for readers; it blocks writers meanwhile, and is tried again later."""


def truncate_log(connection: DBAPIConnection) -> None:
    """Write the write-ahead log into the database file and empty it, unless readers need it now."""
    with closing(connection.cursor()) as cursor:
        previous = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        # Most of the work, while writers go on; the rest blocks them.
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        cursor.execute(f"PRAGMA busy_timeout={CHECKPOINT_TIMEOUT_MS}").fetchall()
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            cursor.execute(f"PRAGMA busy_timeout={previous}").fetchall()
