"""SQL channel state."""

from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from sophon.clock import Clock
from sophon.stores.channel_state.contract import ChannelStateEntry
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema import channel_state


class SqlChannelStateStore:
    """The notes of an `SqlStore`; see `ChannelStateStore`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def put(self, entry: ChannelStateEntry) -> None:
        """See `ChannelStateStore.put`."""
        await self._database.write(partial(_put, note=entry, at=self._clock.now()))

    async def add(self, entry: ChannelStateEntry) -> bool:
        """See `ChannelStateStore.add`."""
        return await self._database.write(partial(_add, note=entry, at=self._clock.now()))

    async def get(self, channel: str, account: str, kind: str, key: str) -> ChannelStateEntry | None:
        """See `ChannelStateStore.get`."""
        found = await self._database.read(partial(_select, where=_has_key(channel, account, kind, key)))
        return found[0] if found else None

    async def list(self, kind: str, channel: str | None = None, account: str | None = None) -> list[ChannelStateEntry]:
        """See `ChannelStateStore.list`."""
        where = channel_state.c.kind == kind
        if channel is not None:
            where &= channel_state.c.channel == channel
        if account is not None:
            where &= channel_state.c.account == account
        return await self._database.read(partial(_select, where=where))

    async def remove(self, channel: str, account: str, kind: str, key: str) -> bool:
        """See `ChannelStateStore.remove`."""
        return await self._database.write(partial(_remove, where=_has_key(channel, account, kind, key))) > 0

    async def expire(self, kind: str, before: datetime) -> int:
        """See `ChannelStateStore.expire`."""
        return await self._database.write(
            partial(_remove, where=and_(channel_state.c.kind == kind, channel_state.c.at < before))
        )


def _has_key(channel: str, account: str, kind: str, key: str) -> ColumnElement[bool]:
    return and_(
        channel_state.c.channel == channel,
        channel_state.c.account == account,
        channel_state.c.kind == kind,
        channel_state.c.key == key,
    )


def _put(connection: Connection, note: ChannelStateEntry, at: datetime) -> None:
    if not _add(connection, note, at):
        where = _has_key(note.channel, note.account, note.kind, note.key)
        connection.execute(update(channel_state).where(where).values(value=dict(note.value), at=at))


def _add(connection: Connection, note: ChannelStateEntry, at: datetime) -> bool:
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
    connection.execute(insert(channel_state), row)
    return True


def _select(connection: Connection, where: ColumnElement[bool]) -> list[ChannelStateEntry]:
    return [
        _to_entry(row)
        for row in connection.execute(select(channel_state).where(where).order_by(channel_state.c.number))
    ]


def _remove(connection: Connection, where: ColumnElement[bool]) -> int:
    return connection.execute(delete(channel_state).where(where)).rowcount


def _to_entry(row: Row[Any]) -> ChannelStateEntry:
    return ChannelStateEntry(row.channel, row.account, row.kind, row.key, row.value, row.at)
