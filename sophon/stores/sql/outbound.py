"""The outbound ledger in SQL."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, or_, select, update

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.stores import outbound_moves as moves
from sophon.stores.outbound_contracts import OutboundEntry, OutboundStatus
from sophon.stores.sql.database import Database
from sophon.stores.sql.dialects import insert_into
from sophon.stores.sql.prepared import Prepared
from sophon.stores.sql.schema import outbound, runs

_ADD = Prepared(
    lambda dialect: insert_into(dialect, outbound).on_conflict_do_nothing(),
    [column.name for column in outbound.c if column is not outbound.c.number],
)
_RUN = Prepared(lambda _: select(runs.c.number).where(runs.c.id == bindparam("which")))
_FIND = select(outbound).where(outbound.c.id == bindparam("which"))
_CHANGE = update(outbound).where(outbound.c.id == bindparam("which"))
_FIRST = (
    select(func.min(outbound.c.number))
    .where(outbound.c.channel == bindparam("channel"), outbound.c.open)
    .group_by(outbound.c.account, outbound.c.chat)
)
_DUE = (
    select(outbound)
    .where(
        outbound.c.number.in_(_FIRST),
        outbound.c.status != "sending",
        or_(outbound.c.not_before.is_(None), outbound.c.not_before <= bindparam("now")),
    )
    .order_by(outbound.c.number)
    .limit(bindparam("most"))
)
_LEFT = (
    select(outbound)
    .where(outbound.c.channel == bindparam("channel"), outbound.c.open, outbound.c.status == "sending")
    .order_by(outbound.c.number)
)


class SqlOutbound:
    """The outbound ledger of an `SqlStore`; see `OutboundLedger`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """See `OutboundLedger.add`."""
        return await self._database.write(partial(_add, new=moves.kept(entries, self._clock.now())))

    async def due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """See `OutboundLedger.due`."""
        return await self._database.read(partial(_find, query=_DUE, channel=channel, now=now, most=max(limit, 0)))

    async def sending(self, entry_id: str) -> OutboundEntry:
        """See `OutboundLedger.sending`."""
        return await self._move(entry_id, moves.sending)

    async def sent(self, entry_id: str, platform_id: str | None = None) -> OutboundEntry:
        """See `OutboundLedger.sent`."""
        return await self._move(entry_id, partial(moves.sent, platform_id=platform_id))

    async def refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """See `OutboundLedger.refused`."""
        return await self._move(entry_id, partial(moves.refused, retry_at=retry_at, error=error))

    async def ambiguous(self, entry_id: str, error: str = "", *, retry_at: datetime | None = None) -> OutboundEntry:
        """See `OutboundLedger.ambiguous`."""
        return await self._move(entry_id, partial(moves.ambiguous, error=error, retry_at=retry_at))

    async def dead(self, entry_id: str, error: str) -> OutboundEntry:
        """See `OutboundLedger.dead`."""
        return await self._move(entry_id, partial(moves.dead, error=error))

    async def interrupted(self, channel: str) -> list[OutboundEntry]:
        """See `OutboundLedger.interrupted`."""
        return await self._database.write(partial(_interrupted, channel=channel))

    async def get(self, entry_id: str) -> OutboundEntry:
        """See `OutboundLedger.get`."""
        return await self._database.read(partial(_get, entry_id=entry_id))

    async def list(
        self,
        *,
        run_id: str | None = None,
        channel: str | None = None,
        status: OutboundStatus | None = None,
        limit: int = 100,
    ) -> list[OutboundEntry]:
        """See `OutboundLedger.list`."""
        query = select(outbound).order_by(outbound.c.number).limit(max(limit, 0))
        for column, value in ((outbound.c.run_id, run_id), (outbound.c.channel, channel), (outbound.c.status, status)):
            if value is not None:
                query = query.where(column == value)
        return await self._database.read(partial(_find, query=query))

    async def _move(self, entry_id: str, move: Callable[[OutboundEntry], OutboundEntry]) -> OutboundEntry:
        return await self._database.write(partial(_move, entry_id=entry_id, move=move))


def add_entries(connection: Connection, new: Sequence[OutboundEntry]) -> int:
    """Add entries as `kept` gives them, of runs that exist; how many were new."""
    return sum(_ADD.run(connection, _row(entry)) for entry in new)


def _find(connection: Connection, query: Select[Any], **values: Any) -> list[OutboundEntry]:
    return [_entry(row) for row in connection.execute(query, values)]


def _add(connection: Connection, new: Sequence[OutboundEntry]) -> int:
    for run_id in dict.fromkeys(entry.run_id for entry in new):
        if run_id is not None and _RUN.row(connection, {"which": run_id}) is None:
            raise NotFound("run", run_id)
    return add_entries(connection, new)


def _move(connection: Connection, entry_id: str, move: Callable[[OutboundEntry], OutboundEntry]) -> OutboundEntry:
    entry = move(_get(connection, entry_id))
    changes = {
        "status": entry.status,
        "open": moves.is_open(entry.status),
        "attempts": entry.attempts,
        "doubtful": entry.doubtful,
        "not_before": entry.not_before,
        "last_error": entry.last_error,
        "platform_id": entry.platform_id,
    }
    connection.execute(_CHANGE.values(changes), {"which": entry_id})
    return entry


def _interrupted(connection: Connection, channel: str) -> list[OutboundEntry]:
    left = connection.execute(_LEFT, {"channel": channel}).all()
    doubt = partial(moves.ambiguous, error=moves.LEFT_BEHIND, retry_at=None)
    return [_move(connection, row.id, doubt) for row in left]


def _get(connection: Connection, entry_id: str) -> OutboundEntry:
    row = connection.execute(_FIND, {"which": entry_id}).one_or_none()
    if row is None:
        raise NotFound("outbound entry", entry_id)
    return _entry(row)


def _row(entry: OutboundEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "run_id": entry.run_id,
        "channel": entry.channel,
        "account": entry.account,
        "chat": entry.chat,
        "kind": entry.kind,
        "payload": entry.payload,
        "position": entry.position,
        "not_before": entry.not_before,
        "status": entry.status,
        "open": moves.is_open(entry.status),
        "attempts": entry.attempts,
        "doubtful": entry.doubtful,
        "last_error": entry.last_error,
        "platform_id": entry.platform_id,
        "created_at": entry.created_at,
    }


def _entry(row: Row[Any]) -> OutboundEntry:
    return OutboundEntry(
        row.id,
        row.run_id,
        row.channel,
        row.account,
        row.chat,
        row.kind,
        row.payload,
        row.position,
        row.not_before,
        row.status,
        row.attempts,
        row.doubtful,
        row.last_error,
        row.platform_id,
        row.created_at,
    )
