"""Which errors of the databases mean that the store is unavailable, and which are errors of the statement."""

import errno
import sqlite3

import psycopg
from sqlalchemy.exc import OperationalError

from sophon.errors import StoreError, StoreUnavailable
from sophon.stores.health import REASONS
from sophon.stores.sql.errors import find_unavailable_kind, to_runtime_error
from tests.tables import table

SQLSTATES = {
    "53100": "full",
    "53200": "overloaded",
    "53300": "overloaded",
    "53400": "overloaded",
    "25P03": "unreachable",
    "25006": "read_only",
    "55P03": "locked",
    "40001": "locked",
    "40P01": "locked",
    "58000": "io",
    "58030": "io",
    "08000": "unreachable",
    "08003": "unreachable",
    "08006": "unreachable",
    "08P01": "unreachable",
    "28000": "unreachable",
    "28P01": "unreachable",
    "3D000": "unreachable",
    "57P01": "unreachable",
    "57P02": "unreachable",
    "57P03": "unreachable",
    "XX001": "damaged",
    "XX002": "damaged",
    "23505": None,
    "23503": None,
    "42P01": None,
    "22P02": None,
    "57014": None,
    "XX000": None,
}
SQLITE_CODES = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_READONLY_DBMOVED: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_IOERR: "io",
    sqlite3.SQLITE_IOERR_FSYNC: "io",
    sqlite3.SQLITE_CANTOPEN: "io",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_BUSY_SNAPSHOT: "locked",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_CONSTRAINT: None,
    sqlite3.SQLITE_ERROR: None,
    sqlite3.SQLITE_MISMATCH: None,
}


def with_code(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("nobody reads the message")
    error.sqlite_errorcode = code
    return error


@table(("state", "kind"), SQLSTATES.items())
def test_an_sqlstate_has_its_kind(state: str, kind: str | None) -> None:
    error = type("Reported", (psycopg.Error,), {"sqlstate": state, "__module__": "psycopg.errors"})("message")
    assert find_unavailable_kind(error) == find_unavailable_kind(OperationalError("SELECT 1", {}, error)) == kind
    assert kind is None or kind in REASONS


@table("state", [state for state in SQLSTATES if state not in ("08P01", "XX000")])
def test_the_drivers_own_class_of_an_sqlstate_has_the_same_kind(state: str) -> None:
    assert find_unavailable_kind(psycopg.errors.lookup(state)("message")) == SQLSTATES[state]


@table(("code", "kind"), SQLITE_CODES.items())
def test_an_sqlite_code_has_the_kind_of_its_primary_code(code: int, kind: str | None) -> None:
    assert find_unavailable_kind(with_code(code)) == kind


@table(
    ("error", "kind"),
    [
        (psycopg.OperationalError("lost"), "unreachable"),
        (psycopg.InterfaceError("closed"), "unreachable"),
        (psycopg.DataError("bad"), None),
    ],
)
def test_an_error_of_the_driver_without_a_state_is_judged_by_its_class(error: Exception, kind: str | None) -> None:
    assert find_unavailable_kind(error) == kind


@table(
    ("number", "kind"),
    [
        (errno.ENOSPC, "full"),
        (errno.EDQUOT, "full"),
        (errno.EFBIG, "full"),
        (errno.EROFS, "read_only"),
        (errno.EIO, "io"),
        (errno.EACCES, None),
    ],
)
def test_an_error_of_the_file_system_has_its_kind(number: int, kind: str | None) -> None:
    assert find_unavailable_kind(OSError(number, "message")) == kind


def test_a_connection_that_sqlalchemy_has_given_up_is_unreachable() -> None:
    error = OperationalError("SELECT 1", {}, Exception("unknown"), connection_invalidated=True)
    assert find_unavailable_kind(error) == "unreachable"


def test_only_an_unavailable_store_is_reported_as_such_and_never_with_the_drivers_words() -> None:
    found = to_runtime_error("s.db", with_code(sqlite3.SQLITE_FULL))
    assert isinstance(found, StoreUnavailable)
    assert (found.kind, str(found)) == ("full", "the store is unavailable: the disk of the store is full")
    other = to_runtime_error("s.db", with_code(sqlite3.SQLITE_CONSTRAINT))
    assert type(other) is StoreError
