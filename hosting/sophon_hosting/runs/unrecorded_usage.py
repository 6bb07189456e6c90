"""File of the usage that a stopping host could not write to its store; the next start writes it there."""

import fcntl
import logging
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from sophon._python.private_files import create_private_file, make_private_folder
from sophon.failure_log import log_failure
from sophon.messages import Usage
from sophon.stores.usage.contract import Period, UsageRow
from sophon_hosting.store.contract import HostStore

log = logging.getLogger("sophon")


class UnrecordedUsageFile:
    """Rows of usage as lines of JSON, in a file of the store beside its database, or in `folder`.

    A row is removed after the store has it: a kill between the two counts it twice, and none loses it. Of processes
    that record at the same time, one has each file: it gives it a name of its own, to which nobody appends, and locks
    it, which ends with the process.
    """

    def __init__(self, store: HostStore, folder: Path) -> None:
        database: Path | None = getattr(store, "file", None)
        name = sha256(store.health.name.encode()).hexdigest()[:12]
        self.path = (folder / "data" if database is None else database.parent) / f"unrecorded-usage-{name}.jsonl"
        self._store = store

    def append(self, rows: Sequence[UsageRow]) -> None:
        """Write rows to the disk; blocks. If that is not possible, the log has what was used."""
        lines = b"".join(orjson.dumps(_to_json(row)) + b"\n" for row in rows)
        try:
            make_private_folder(self.path.parent)
            create_private_file(self.path)
            with self.path.open("ab") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            used = "; ".join(f"{row.provider}/{row.model}: {row.calls} calls, {row.usage.to_json()}" for row in rows)
            log.error("usage is lost: neither the store nor %s can be written (%s): %s", self.path, error, used)  # noqa: TRY400

    async def record(self) -> None:
        """Write what is in the file to the store, and delete the file. Raises StoreError, and the rows stay on disk.

        Also what an earlier call has left.
        """
        try:
            with suppress(FileNotFoundError):
                self.path.replace(self.path.with_suffix(f".{secrets.token_hex(4)}.jsonl"))
            for path in sorted(self.path.parent.glob(f"{self.path.stem}.*.jsonl")):
                with suppress(FileNotFoundError), path.open("rb") as file:
                    if _lock(file):
                        await self._record(path, file.read().splitlines())
        except OSError as error:
            log_failure(log, error, "%s cannot be read; its usage stays unrecorded", self.path)

    async def _record(self, path: Path, lines: Sequence[bytes]) -> None:
        rows = _read_rows(path, lines)
        if not rows:
            return
        runs = {row.run_id: await self._store.runs.find(row.run_id) for row in rows}
        # A later session with the id of a deleted one has not used it.
        await self._store.usage.record([row if runs[row.run_id] else replace(row, session_id="") for row in rows])
        _delete(path)
        log.info("%d rows of usage were recorded that the last stop could not write", len(rows))


def _lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return False if another process has it or has recorded and deleted it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file.fileno()).st_nlink > 0


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)


def _read_rows(path: Path, lines: Sequence[bytes]) -> list[UsageRow]:
    """Return the rows. A line that was cut off by a kill is left out."""
    rows: list[UsageRow] = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_from_json(orjson.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s: line %d is no usage and is left out: %s", path, number, error)
    return rows


def _to_json(row: UsageRow) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in ("provider", "model", "purpose", "session_id", "run_id", "calls")},
        "usage": row.usage.to_json(),
        "day": row.period.day,
        "month": row.period.month,
        "at": row.at.isoformat(),
    }


def _from_json(values: dict[str, Any]) -> UsageRow:
    period, at = Period(values["day"], values["month"]), datetime.fromisoformat(values["at"])
    provider, model, purpose, session_id, run_id = (
        values[name] for name in ("provider", "model", "purpose", "session_id", "run_id")
    )
    usage = Usage.from_json(values["usage"])
    return UsageRow(provider, model, purpose, session_id, run_id, usage, period, at, values["calls"])
