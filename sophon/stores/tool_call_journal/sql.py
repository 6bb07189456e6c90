"""SQL journal."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, or_, select

from sophon.clock import Clock
from sophon.messages import ToolResult
from sophon.stores.run_fence import RunFence
from sophon.stores.sql.column_types import SafeText, escape_text
from sophon.stores.sql.database import Database
from sophon.stores.sql.prepared_statement import PreparedStatement, prepare_upsert
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import journal
from sophon.stores.sql.store_part import StorePart
from sophon.stores.tool_call_journal.contract import JournalEntry


class SqlJournal(Repository):
    """The journal of an `SqlStore`; see `Journal`."""

    def __init__(self, database: Database, clock: Clock, parts: Sequence[type[StorePart]] = ()) -> None:
        super().__init__(database, clock)
        self._parts = parts

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """See `Journal.start`."""
        await self._database.write(partial(put_entry, run_id=run_id, entry=JournalEntry(call_id, tool)))

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """See `Journal.finish`."""
        entry = JournalEntry(result.call_id, result.tool, result)
        await self._database.write(partial(put_entry, run_id=run_id, entry=entry))

    async def load_entries(self, run_id: str) -> dict[str, JournalEntry]:
        """See `Journal.load_entries`."""
        return await self._database.read(partial(_entries, run_id=run_id))

    async def delete(self, run_id: str, *, fence: RunFence | None = None) -> None:
        """See `Journal.delete`."""
        fence = fence or self._database.fence
        fences = [fence] if fence is not None else []
        await self._database.write(partial(_delete, self._parts, run_id=run_id, fences=fences))


def put_entry(connection: Connection, run_id: str, entry: JournalEntry) -> None:
    """Insert or replace the entry of a call, in the caller's transaction."""
    turn, _, _ = run_id.partition("/")
    row: dict[str, Any] = {"run_id": run_id, "call_id": entry.call_id, "turn": turn, "tool": entry.tool}
    row["result"] = entry.result.to_json() if entry.result is not None else None
    _UPSERT.execute(connection, row)


def _entries(connection: Connection, run_id: str) -> dict[str, JournalEntry]:
    turn, _, _ = run_id.partition("/")
    query = select(journal).where(journal.c.turn == turn, journal.c.run_id == run_id)
    return {
        row.call_id: JournalEntry(
            row.call_id, row.tool, ToolResult.from_json(row.result) if row.result is not None else None
        )
        for row in connection.execute(query)
    }


def _delete(parts: Sequence[type[StorePart]], connection: Connection, run_id: str, fences: Sequence[RunFence]) -> None:
    for part in parts if fences else ():
        part.check_fences(connection, fences)
    delete_entries(connection, run_id)


def delete_entries(connection: Connection, run_id: str) -> None:
    """Delete the entries of a run and of its plan steps, in the caller's transaction."""
    turn, slash, _ = run_id.partition("/")
    if not slash:
        _DELETE_TURN.execute(connection, {"turn": run_id})
        return
    steps = f"{run_id}/"
    # No LIKE: SQLite's is case-insensitive.
    begins = func.substr(journal.c.run_id, 1, len(escape_text(steps)), type_=SafeText) == steps
    connection.execute(delete(journal).where(journal.c.turn == turn, or_(journal.c.run_id == run_id, begins)))


_UPSERT = prepare_upsert(journal, ["turn", "run_id", "call_id"], ["tool", "result"])
_DELETE_TURN = PreparedStatement(lambda _: delete(journal).where(journal.c.turn == bindparam("turn")))
