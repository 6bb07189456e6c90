"""Integrity check of an SQLite file on a read-only connection of its own, so that a damaged file stays as it is.

SQLite itself does not report three kinds of loss. It deletes a write-ahead log that lies beside an empty database, and
it takes a log with an invalid header for an empty one; both are found here. A log that is cut off in the middle of a
transaction is normal after a crash. Source: sqlite.org/fileformat2.html 4.1 (header of the log).
"""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MAX_PROBLEMS = 20
"""Problems that a check reports at most."""

WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
WAL_HEADER_BYTES = 32
PROGRESS_STEPS = 100_000
"""Virtual machine steps between two looks at the clock."""

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
    problem = _find_log_problem(file)
    if problem is not None:
        return IntegrityReport([problem])
    problems: list[str] = []
    deadline = None if seconds is None else time.monotonic() + seconds
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            if deadline is not None:
                connection.set_progress_handler(lambda: time.monotonic() > deadline, PROGRESS_STEPS)
            for (lines,) in connection.execute(f"PRAGMA {check}({MAX_PROBLEMS})"):
                problems += [line for line in str(lines).splitlines() if line not in ("ok", "*** in database main ***")]
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            return IntegrityReport(problems, is_complete=False)
        if code in _DAMAGE:
            problems.append(str(error))
    return IntegrityReport(problems)


def describe_damage(file: Path, problems: Sequence[str]) -> str:
    """Return what is damaged and what to do, in one line."""
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return (
        f"the file is damaged ({problems[0]}{more}), and was left as it is; `sophon doctor` lists the damage: restore "
        f"a backup, or save what can be read with `sqlite3 {file} .recover` (docs/operations.md)"
    )


def vacuum(file: Path) -> None:
    """Rewrite a file without free pages, so that it returns later ones by itself. Raises sqlite3.Error."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _find_log_problem(file: Path) -> str | None:
    log = Path(f"{file}-wal")
    if not log.is_file() or not log.stat().st_size:
        return None
    if not file.stat().st_size:
        return f"it is empty, but {log.name} beside it is not"
    with log.open("rb") as opened:
        header = opened.read(WAL_HEADER_BYTES)
    # A header that a crash left incomplete belongs to a log of which nothing was acknowledged.
    if len(header) < WAL_HEADER_BYTES or not any(header) or header.startswith(WAL_MAGIC):
        return None
    return f"{log.name} is no write-ahead log"
