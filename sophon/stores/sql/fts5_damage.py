"""Errors of an FTS5 table that is missing or damaged, told apart from those of the whole database."""

import sqlite3


class IndexDamaged(Exception):
    """Error: the index is missing or cannot be read; it must be rebuilt."""


def index_damage(error: Exception, table: str) -> IndexDamaged:
    """Return the error if the index is to blame. Raises `error` if another process or the disk is."""
    cause = getattr(error, "orig", error)
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    # What SQLite says of an index that is missing, or of which a part is.
    signs = (f"no such table: {table}", "vtable constructor failed", "no such module", "fts5:", "SQL logic error")
    is_missing = code == sqlite3.SQLITE_ERROR and any(sign in str(cause) for sign in signs)
    if code not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT) and not is_missing:
        raise error
    return IndexDamaged(str(cause))
