"""SQL data labels: a row per key. The taint of a key is merged in the transaction that writes it."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from sophon.security.information_flow.taint import UNTAINTED, Taint
from sophon.stores.data_labels.contract import LabelWrite, session_key
from sophon.stores.data_labels.in_memory import apply_writes
from sophon.stores.sql.prepared_statement import PreparedStatement, prepare_upsert
from sophon.stores.sql.repository import Repository, in_parts
from sophon.stores.sql.schema import data_labels
from sophon.stores.unit_of_work import WriteKind

_SELECT = select(data_labels.c.key, data_labels.c.label, data_labels.c.private, data_labels.c.untrusted)
_UPSERT = prepare_upsert(data_labels, ["key"], ["label", "private", "untrusted"])
_DELETE = PreparedStatement(lambda _: delete(data_labels).where(data_labels.c.key == bindparam("which")))


class SqlDataLabelStore(Repository):
    """The data labels of an `SqlStore`; see `DataLabelStore`."""

    async def find(self, keys: Sequence[str]) -> dict[str, Taint]:
        """See `DataLabelStore.find`."""
        if not keys:
            return {}
        return await self._database.read(partial(_find, keys=tuple(keys)))

    async def write(self, writes: Sequence[LabelWrite]) -> None:
        """See `DataLabelStore.write`."""
        if writes:
            await self._database.add(WriteKind.LABEL, partial(write_labels, writes=tuple(writes)))


def write_labels(connection: Connection, writes: Sequence[LabelWrite]) -> None:
    """Merge and write taints, in the caller's transaction."""
    if not writes:
        return
    present = _find(connection, [write.key for write in writes])
    for key, taint in apply_writes(present, writes).items():
        if taint == UNTAINTED:
            _DELETE.execute(connection, {"which": key})
        elif taint != present.get(key):
            _UPSERT.execute(connection, _row(key, taint))


def delete_session_label(connection: Connection, session_id: str) -> None:
    """Delete the taint of a session that is deleted, in the caller's transaction."""
    _DELETE.execute(connection, {"which": session_key(session_id)})


def copy_session_label(connection: Connection, session_id: str, new_id: str) -> None:
    """Give the taint of a session to its fork, in the caller's transaction."""
    taint = _find(connection, [session_key(session_id)]).get(session_key(session_id), UNTAINTED)
    write_labels(connection, [LabelWrite(session_key(new_id), taint)])


def _find(connection: Connection, keys: Iterable[str]) -> dict[str, Taint]:
    found: dict[str, Taint] = {}
    for part in in_parts(dict.fromkeys(keys)):
        for key, label, private, untrusted in connection.execute(_SELECT.where(data_labels.c.key.in_(part))):
            found[key] = Taint(label, private, untrusted)
    return found


def _row(key: str, taint: Taint) -> dict[str, Any]:
    return {"key": key, "label": taint.label, "private": taint.is_private, "untrusted": taint.is_untrusted}
