"""SQL storage of the logs of checkpoints: a row per entry."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select

from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.texts.sql import TextReader, TextWriter
from sophon_hosting.store.runs.contract import LogWrite
from sophon_hosting.store.tables import checkpoint_logs

_OF_RUN = checkpoint_logs.c.run == bindparam("number")
_DELETE = PreparedStatement(lambda _: delete(checkpoint_logs).where(_OF_RUN))
_CUT = PreparedStatement(
    lambda _: delete(checkpoint_logs).where(
        _OF_RUN, checkpoint_logs.c.log == bindparam("which"), checkpoint_logs.c.position >= bindparam("start")
    )
)
_INSERT = PreparedStatement(lambda _: insert(checkpoint_logs))
_SELECT = (
    select(checkpoint_logs.c.log, checkpoint_logs.c.entry)
    .where(_OF_RUN)
    .order_by(checkpoint_logs.c.log, checkpoint_logs.c.position)
)


def write_logs(connection: Connection, number: int, writes: Sequence[LogWrite], writer: TextWriter) -> None:
    """Write to the logs of the run with a row number."""
    for write in writes:
        _CUT.execute(connection, {"number": number, "which": write.log, "start": write.start})
    rows = [
        {"run": number, "log": write.log, "position": position, "entry": writer.encode(entry)}
        for write in writes
        for position, entry in enumerate(write.entries, write.start)
    ]
    if rows:
        _INSERT.execute_many(connection, rows)


def load_entries(connection: Connection, number: int, reader: TextReader) -> Mapping[int, Sequence[Any]]:
    """Return the entries of the logs of a run by the log's number."""
    logs: dict[int, list[Any]] = {}
    for log, entry in connection.execute(_SELECT, {"number": number}):
        logs.setdefault(log, []).append(reader.decode(entry))
    return logs


def delete_logs(connection: Connection, number: int) -> None:
    """Delete the logs of a run."""
    _DELETE.execute(connection, {"number": number})
