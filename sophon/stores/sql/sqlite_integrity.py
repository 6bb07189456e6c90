"""Integrity check of an SQLite file on a read-only connection of its own, so that a damaged file stays as it is.

SQLite itself does not report a damaged write-ahead log, nor one beside an empty database: it discards them. Both are
found by `sqlite_log_check`.
"""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.sql.dialects import PAGE_BYTES
from sophon.stores.sql.sqlite_log_check import find_log_problem

MAX_PROBLEMS = 20
"""Problems that a check reports at most."""

PROGRESS_STEPS = 100_000
"""Virtual machine steps between two looks at the clock."""

NOT_A_DATABASE = "it is no SQLite database, or its first page is overwritten"
"""The problem of a file that SQLite does not recognize."""

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """Result of a check: one line per problem; `is_complete` is False if the time limit ended it."""

    problems: Sequence[str]
    is_complete: bool = True


def check_database(
    file: Path, check: Literal["quick_check", "integrity_check"], seconds: float | None = None
) -> IntegrityReport:
    """Check a file with its write-ahead log. Errors that are no damage are not reported: opening it reports them."""
    deadline = None if seconds is None else time.monotonic() + seconds
    problem = find_log_problem(file, deadline)
    if problem is not None:
        return IntegrityReport([problem])
    problems: list[str] = []
    try:
        with closing(connect_read_only(file)) as connection:
            if deadline is not None:
                connection.set_progress_handler(lambda: time.monotonic() > deadline, PROGRESS_STEPS)
            for (lines,) in connection.execute(f"PRAGMA {check}({MAX_PROBLEMS})"):
                problems += [line for line in str(lines).splitlines() if is_damage(line)]
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            return IntegrityReport(problems, is_complete=False)
        if code in _DAMAGE:
            problems.append(NOT_A_DATABASE if code == sqlite3.SQLITE_NOTADB else str(error))
    return IntegrityReport(problems)


def is_damage(line: str) -> bool:
    """Return whether a line of a check is about the file itself: a search index is made anew when it is damaged."""
    return line not in ("ok", "*** in database main ***") and "FTS5 table" not in line


def connect_read_only(file: Path) -> sqlite3.Connection:
    """Connect to an existing file without the right to change it. Raises sqlite3.Error."""
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def describe_damage(file: Path, problems: Sequence[str]) -> str:
    """Return what is damaged and what to do, in one line."""
    if NOT_A_DATABASE in problems:
        return no_database_message()
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return (
        f"the file is damaged ({problems[0]}{more}), and was left as it is; `sophon doctor` lists the damage: restore "
        f"a backup, or save what can be read with `sqlite3 {file} .recover` (docs/operations.md)"
    )


def no_database_message() -> str:
    """Return what to do about a file that SQLite does not recognize, in one line."""
    return (
        f"{NOT_A_DATABASE}, and was left as it is; choose another file in Store.Url, or restore a backup "
        "(docs/operations.md)"
    )


def vacuum(file: Path) -> None:
    """Rewrite a file as a new one would be: without free pages, with the page size of a new file, and returning later
    free pages by itself. The page size stays as it is while another connection has the file open.

    Raises sqlite3.Error.
    """
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        # SQLite ignores the page size of a file in WAL mode.
        try:
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
