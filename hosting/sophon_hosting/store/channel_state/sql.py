"""SQL channel state."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, update

from sophon.stores.sql.batched_deletion import recheck_and_delete_in_batches
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository, in_parts
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.tables import channel_state

_COLUMNS = (
    *(channel_state.c.channel, channel_state.c.account, channel_state.c.kind, channel_state.c.key),
    *(channel_state.c.value, channel_state.c.at),
)
_BY_KEY = and_(*(column == bindparam(f"which_{column.name}") for column in _COLUMNS[:4]))
# Several of them run for every message.
_SELECT_ONE = PreparedStatement(lambda _: select(*_COLUMNS).where(_BY_KEY))
_UPDATE_ONE = PreparedStatement(
    lambda _: update(channel_state).where(_BY_KEY).values(value=bindparam("new_value"), at=bindparam("new_at"))
)
_DELETE_ONE = delete(channel_state).where(_BY_KEY)
_INSERT_ONE = PreparedStatement(lambda _: insert(channel_state), [column.name for column in _COLUMNS])


class ChannelStateStore(Repository):
    """Repository of channel state, keyed by channel, account, kind and key."""

    async def put(self, entry: ChannelStateEntry) -> None:
        """Store an entry; replaces one with the same key."""
        await self._database.write(partial(_put, note=entry, at=self._clock.now()))

    async def put_many(self, entries: Sequence[ChannelStateEntry]) -> None:
        """Store entries, all or none, in one write; like `put` for each. No key may occur twice."""
        if entries:
            await self._database.write(partial(_put_many, notes=entries, at=self._clock.now()))

    async def add(self, entry: ChannelStateEntry) -> bool:
        """Store an entry unless its key exists; return whether it was stored. Of two concurrent calls one stores."""
        return await self._database.write(partial(_add, note=entry, at=self._clock.now()))

    async def get(self, channel: str, account: str, kind: str, key: str) -> ChannelStateEntry | None:
        """Return one entry, or None."""
        return await self._database.read(partial(_get, key=_to_key(channel, account, kind, key)))

    async def find_keys(self, channel: str, account: str, kind: str, keys: Collection[str]) -> frozenset[str]:
        """Return those of the keys that have an entry."""
        if not keys:
            return frozenset()
        return await self._database.read(
            partial(_find_keys, channel=channel, account=account, kind=kind, keys=list(keys))
        )

    async def list(self, kind: str, channel: str | None = None, account: str | None = None) -> list[ChannelStateEntry]:
        """Return the entries of a kind in the order in which their keys were first written."""
        given = {"channel": channel, "account": account, "kind": kind}
        wanted = {f"which_{name}": value for name, value in given.items() if value is not None}
        statement = _prepare_list(*wanted)
        return await self._database.read(
            lambda connection: [ChannelStateEntry(*row) for row in statement.fetch_rows(connection, wanted)]
        )

    async def remove(self, channel: str, account: str, kind: str, key: str) -> bool:
        """Delete an entry; return whether it existed."""
        which = _to_key(channel, account, kind, key)
        return await self._database.write(lambda connection: connection.execute(_DELETE_ONE, which).rowcount) > 0

    async def expire(self, kind: str, before: datetime) -> int:
        """Delete the entries of a kind that were last written before a time; return how many.

        Uses a transaction per batch; an entry that is written again stays.
        """
        is_old = and_(channel_state.c.kind == kind, channel_state.c.at < before)
        oldest = select(channel_state.c.number).where(is_old).order_by(channel_state.c.at)
        return await recheck_and_delete_in_batches(self._database, oldest)


@cache
def _prepare_list(*names: str) -> PreparedStatement:
    """Return the statement for the entries that have these parts of the key."""
    same = [column == bindparam(f"which_{column.name}") for column in _COLUMNS if f"which_{column.name}" in names]
    return PreparedStatement(lambda _: select(*_COLUMNS).where(*same).order_by(channel_state.c.number))


def _to_key(channel: str, account: str, kind: str, key: str) -> dict[str, str]:
    return {"which_channel": channel, "which_account": account, "which_kind": kind, "which_key": key}


def _get(connection: Connection, key: dict[str, str]) -> ChannelStateEntry | None:
    row = _SELECT_ONE.fetch_row(connection, key)
    return None if row is None else ChannelStateEntry(*row)


def _put(connection: Connection, note: ChannelStateEntry, at: datetime) -> None:
    key = _to_key(note.channel, note.account, note.kind, note.key)
    if not _UPDATE_ONE.execute(connection, {**key, "new_value": dict(note.value), "new_at": at}):
        _INSERT_ONE.execute(connection, _to_row(note, at))


def _put_many(connection: Connection, notes: Sequence[ChannelStateEntry], at: datetime) -> None:
    known: set[tuple[str, str, str, str]] = set()
    for channel, account, kind in {(note.channel, note.account, note.kind) for note in notes}:
        keys = [note.key for note in notes if (note.channel, note.account, note.kind) == (channel, account, kind)]
        known |= {(channel, account, kind, key) for key in _find_keys(connection, channel, account, kind, keys)}
    new = [note for note in notes if (note.channel, note.account, note.kind, note.key) not in known]
    if new:
        _INSERT_ONE.execute_many(connection, [_to_row(note, at) for note in new])
    for note in notes:
        if (note.channel, note.account, note.kind, note.key) in known:
            _put(connection, note, at)


def _find_keys(connection: Connection, channel: str, account: str, kind: str, keys: Sequence[str]) -> frozenset[str]:
    return frozenset(
        row.key
        for part in in_parts(keys)
        for row in connection.execute(
            select(channel_state.c.key).where(
                channel_state.c.channel == channel,
                channel_state.c.account == account,
                channel_state.c.kind == kind,
                channel_state.c.key.in_(part),
            )
        )
    )


def _add(connection: Connection, note: ChannelStateEntry, at: datetime) -> bool:
    if _get(connection, _to_key(note.channel, note.account, note.kind, note.key)) is not None:
        return False  # atomic: a write transaction has exclusive access
    _INSERT_ONE.execute(connection, _to_row(note, at))
    return True


def _to_row(note: ChannelStateEntry, at: datetime) -> dict[str, Any]:
    key = {"channel": note.channel, "account": note.account, "kind": note.kind, "key": note.key}
    return {**key, "value": dict(note.value), "at": at}
