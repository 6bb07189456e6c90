"""Rows of outbound entries: inserted by the outbox, with the outcome of a run, and with events."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select

from sophon.errors import NotFound
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon_channels.outbound_entry import OutboundEntry, is_open
from sophon_hosting.store.tables import outbound, runs

ENTRY_COLUMNS = [column.name for column in outbound.c if column.name not in ("number", "open")]
"""Columns that are fields of an entry."""

_INSERT = PreparedStatement(
    lambda dialect: build_insert(dialect, outbound).on_conflict_do_nothing(), [*ENTRY_COLUMNS, "open"]
)
_SELECT_RUN = PreparedStatement(lambda _: select(runs.c.number).where(runs.c.id == bindparam("which")))


def add_entries(connection: Connection, new: Sequence[OutboundEntry]) -> int:
    """Insert entries as `prepare_entries` returns them, of existing runs; return how many were new."""
    return sum(_INSERT.execute(connection, _to_row(entry)) for entry in new)


def add_to_runs(connection: Connection, new: Sequence[OutboundEntry]) -> int:
    """Insert entries as `add_entries` does. Raises NotFound for a run that does not exist."""
    for run_id in dict.fromkeys(entry.run_id for entry in new):
        if run_id is not None and _SELECT_RUN.fetch_row(connection, {"which": run_id}) is None:
            raise NotFound("run", run_id)
    return add_entries(connection, new)


def _to_row(entry: OutboundEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ENTRY_COLUMNS} | {"open": is_open(entry.status)}
