"""File of the usage that a stopping host could not write to its store; the next start writes it there."""

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from sophon.failure_log import log_failure
from sophon.messages import Usage
from sophon.private_files import create_private_file, make_private_folder
from sophon.stores.contract import Store
from sophon.stores.usage.contract import Period, UsageRow

log = logging.getLogger("sophon")


class UnrecordedUsageFile:
    """Rows of usage as lines of JSON, in a file of the store beside its database, or in `folder`.

    A row is removed after the store has it: a kill between the two counts it twice, and none loses it.
    """

    def __init__(self, store: Store, folder: Path) -> None:
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
        """Write what is in the file to the store, and delete the file. Raises StoreError, and the file stays."""
        rows = self._read()
        if not rows:
            return
        runs = {row.run_id: await self._store.runs.find(row.run_id) for row in rows}
        # A later session with the id of a deleted one has not used it.
        await self._store.usage.record([row if runs[row.run_id] else replace(row, session_id="") for row in rows])
        self.path.unlink(missing_ok=True)
        log.info("%d rows of usage were recorded that the last stop could not write", len(rows))

    def _read(self) -> list[UsageRow]:
        """Return the rows. A line that was cut off by a kill is left out."""
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            log_failure(log, error, "%s cannot be read; its usage stays unrecorded", self.path)
            return []
        rows: list[UsageRow] = []
        for number, line in enumerate(lines, 1):
            try:
                rows.append(_from_json(orjson.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                log.warning("%s: line %d is no usage and is left out: %s", self.path, number, error)
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
