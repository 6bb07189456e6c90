"""Map database errors to a StoreError: unavailable, or one line for the operator.

Sources: sqlite.org/rescode.html (primary result codes), PostgreSQL Appendix A (SQLSTATE).
"""

import errno
import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from sophon.errors import StoreError, StoreUnavailable
from sophon.extras import install_command
from sophon.stores.health import REASONS
from sophon.stores.sql.sqlite_integrity import no_database_message

_KIND_BY_SQLITE_CODE = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_IOERR: "io",
    sqlite3.SQLITE_CANTOPEN: "io",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_KIND_BY_SQLSTATE_PREFIX = (
    ("53100", "full"),
    ("53", "overloaded"),
    ("25P03", "unreachable"),
    ("25006", "read_only"),
    ("55P03", "locked"),
    ("40", "locked"),
    ("58", "io"),
    ("08", "unreachable"),
    ("28", "unreachable"),
    ("3D", "unreachable"),
    ("57P", "unreachable"),
    ("XX001", "damaged"),
    ("XX002", "damaged"),
)
_KIND_BY_ERRNO = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EFBIG: "full",
    errno.EROFS: "read_only",
    errno.EIO: "io",
}
_CONNECTION_ERRORS = frozenset({"OperationalError", "InterfaceError"})
"""Names of psycopg's exceptions that report, without an SQLSTATE, that there is no connection."""

_MESSAGES = (
    ("not a database", no_database_message()),
    (
        "malformed",
        "the file is damaged; `sophon doctor` says more: restore a backup, or save what can be read with "
        "`sqlite3 FILE .recover` (docs/operations.md)",
    ),
    ("database is locked", "another process keeps it locked; end that process, or try again"),
    ("lock timeout", "another process keeps it locked; end that process, or try again"),
    ("unable to open database file", "the file cannot be opened; check the path and its permissions"),
    ("readonly database", "the file may not be written; check its permissions"),
    ("disk is full", "the disk is full"),
)
"""Part of the driver's message -> message for the operator."""


def find_unavailable_kind(error: BaseException) -> str | None:
    """Return why the database is unavailable, a key of `REASONS`; None for an error of the statement or its values."""
    if isinstance(error, OSError):
        return _KIND_BY_ERRNO.get(error.errno or 0)
    if isinstance(error, DBAPIError):
        original = error.orig
        found = find_unavailable_kind(original) if original is not None else None
        return found or ("unreachable" if error.connection_invalidated else None)
    if isinstance(error, sqlite3.Error):
        return _KIND_BY_SQLITE_CODE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if not type(error).__module__.startswith("psycopg"):
        return None
    state = getattr(error, "sqlstate", None)
    if state is None:
        return "unreachable" if _CONNECTION_ERRORS & {each.__name__ for each in type(error).__mro__} else None
    return next((kind for prefix, kind in _KIND_BY_SQLSTATE_PREFIX if state.startswith(prefix)), None)


def to_runtime_error(store: str, error: Exception) -> StoreError:
    """Return the error of a read or write of an open store: StoreUnavailable, or that of `to_store_error`."""
    kind = find_unavailable_kind(error)
    return to_store_error(store, error) if kind is None else StoreUnavailable(store, kind, REASONS[kind])


def to_store_error(store: str, error: Exception) -> StoreError:
    """Return the StoreError for an error of SQLAlchemy, of a driver, or of the file system."""
    if isinstance(error, ModuleNotFoundError):
        command = install_command("postgres") if error.name == "psycopg" else f"pip install {error.name}"
        return StoreError(store, f"the driver {error.name!r} is not installed; try `{command}`")
    if isinstance(error, OSError):
        return StoreError(store, f"{error.strerror or error}: {error.filename!r}")
    text = str(error.orig if isinstance(error, DBAPIError) else error)
    for part, sentence in _MESSAGES:
        if part in text:
            return StoreError(store, sentence)
    first = text.strip().partition("\n")[0]
    return StoreError(store, first if isinstance(error, SQLAlchemyError) else f"{type(error).__name__}: {first}")
