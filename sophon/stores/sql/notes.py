"""SQL channel state."""

from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from sophon.clock import Clock
from sophon.stores.note_contracts import Note
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema import notes


class SqlNotes:
    """The notes of an `SqlStore`; see `ChannelNotes`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def put(self, note: Note) -> None:
        """See `ChannelNotes.put`."""
        await self._database.write(partial(_put, note=note, at=self._clock.now()))

    async def add(self, note: Note) -> bool:
        """See `ChannelNotes.add`."""
        return await self._database.write(partial(_add, note=note, at=self._clock.now()))

    async def get(self, channel: str, account: str, kind: str, key: str) -> Note | None:
        """See `ChannelNotes.get`."""
        found = await self._database.read(partial(_select, where=_has_key(channel, account, kind, key)))
        return found[0] if found else None

    async def list(self, kind: str, channel: str | None = None, account: str | None = None) -> list[Note]:
        """See `ChannelNotes.list`."""
        where = notes.c.kind == kind
        if channel is not None:
            where &= notes.c.channel == channel
        if account is not None:
            where &= notes.c.account == account
        return await self._database.read(partial(_select, where=where))

    async def remove(self, channel: str, account: str, kind: str, key: str) -> bool:
        """See `ChannelNotes.remove`."""
        return await self._database.write(partial(_remove, where=_has_key(channel, account, kind, key))) > 0

    async def expire(self, kind: str, before: datetime) -> int:
        """See `ChannelNotes.expire`."""
        return await self._database.write(partial(_remove, where=and_(notes.c.kind == kind, notes.c.at < before)))


def _has_key(channel: str, account: str, kind: str, key: str) -> ColumnElement[bool]:
    return and_(notes.c.channel == channel, notes.c.account == account, notes.c.kind == kind, notes.c.key == key)


def _put(connection: Connection, note: Note, at: datetime) -> None:
    if not _add(connection, note, at):
        where = _has_key(note.channel, note.account, note.kind, note.key)
        connection.execute(update(notes).where(where).values(value=dict(note.value), at=at))


def _add(connection: Connection, note: Note, at: datetime) -> bool:
    if _select(connection, _has_key(note.channel, note.account, note.kind, note.key)):
        return False  # atomic: a write transaction has exclusive access
    row = {
        "channel": note.channel,
        "account": note.account,
        "kind": note.kind,
        "key": note.key,
        "value": dict(note.value),
        "at": at,
    }
    connection.execute(insert(notes), row)
    return True


def _select(connection: Connection, where: ColumnElement[bool]) -> list[Note]:
    return [_to_entry(row) for row in connection.execute(select(notes).where(where).order_by(notes.c.number))]


def _remove(connection: Connection, where: ColumnElement[bool]) -> int:
    return connection.execute(delete(notes).where(where)).rowcount


def _to_entry(row: Row[Any]) -> Note:
    return Note(row.channel, row.account, row.kind, row.key, row.value, row.at)
