"""SQL outbox."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from sqlalchemy import Connection, Row, Select, bindparam, func, or_, select, update

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.stores.events.sql import add_events
from sophon.stores.outbox import transitions
from sophon.stores.outbox.contract import DeadLetterEvents, OutboundEntry, OutboundStatus
from sophon.stores.sql.database import Database
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.expiry import delete_in_batches
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import IS_DEAD_LETTER, outbound, runs

_INSERT = PreparedStatement(
    lambda dialect: build_insert(dialect, outbound).on_conflict_do_nothing(),
    [column.name for column in outbound.c if column is not outbound.c.number],
)
_SELECT_RUN = PreparedStatement(lambda _: select(runs.c.number).where(runs.c.id == bindparam("which")))
_SELECT = select(outbound).where(outbound.c.id == bindparam("which"))
_UPDATE = update(outbound).where(outbound.c.id == bindparam("which"))
_FIRST_OPEN_PER_CHAT = (
    select(func.min(outbound.c.number))
    .where(outbound.c.channel == bindparam("channel"), outbound.c.open)
    .group_by(outbound.c.account, outbound.c.chat)
)
_SELECT_DUE = (
    select(outbound)
    .where(
        outbound.c.number.in_(_FIRST_OPEN_PER_CHAT),
        outbound.c.status != "sending",
        or_(outbound.c.not_before.is_(None), outbound.c.not_before <= bindparam("now")),
    )
    .order_by(outbound.c.number)
    .limit(bindparam("most"))
)
_SELECT_NEXT_DUE = select(func.min(outbound.c.not_before)).where(
    outbound.c.number.in_(_FIRST_OPEN_PER_CHAT),
    outbound.c.status != "sending",
    outbound.c.not_before > bindparam("after"),
)
_SELECT_SENDING = (
    select(outbound)
    .where(outbound.c.channel == bindparam("channel"), outbound.c.open, outbound.c.status == "sending")
    .order_by(outbound.c.number)
)
_SELECT_OPEN_OF_CHAT = (
    select(outbound)
    .where(
        outbound.c.channel == bindparam("channel"),
        outbound.c.open,
        outbound.c.account == bindparam("account"),
        outbound.c.chat == bindparam("chat"),
        outbound.c.status != "sending",
    )
    .order_by(outbound.c.number)
)
_CLEAR_PENALTIES = (
    update(outbound)
    .where(
        outbound.c.channel == bindparam("which"),
        outbound.c.open,
        outbound.c.status.in_(("pending", "refused")),
        or_(outbound.c.not_before.is_not(None), outbound.c.refusals > 0),
    )
    .values(not_before=None, refusals=0)
)
_SELECT_BY_PLATFORM_ID = (
    select(outbound)
    .where(
        outbound.c.platform_id == bindparam("platform_id"),
        outbound.c.channel == bindparam("channel"),
        outbound.c.account == bindparam("account"),
    )
    .order_by(outbound.c.number.desc())
    .limit(1)
)
_COUNT_DEAD = select(func.count()).select_from(outbound).where(IS_DEAD_LETTER)

_Transition: TypeAlias = Callable[[OutboundEntry], OutboundEntry]


class SqlOutbox:
    """The outbox of an `SqlStore`; see `Outbox`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """See `Outbox.add`."""
        return await self._database.write(partial(_add, new=transitions.prepare_entries(entries, self._clock.now())))

    async def list_due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """See `Outbox.list_due`."""
        return await self._database.read(
            partial(_find, query=_SELECT_DUE, channel=channel, now=now, most=max(limit, 0))
        )

    async def find_next_due(self, after: datetime, channel: str) -> datetime | None:
        """See `Outbox.find_next_due`."""
        return await self._database.read(partial(_find_next_due, after=after, channel=channel))

    async def mark_sending(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.mark_sending`."""
        return await self._apply_transition(entry_id, transitions.mark_sending)

    async def mark_sent(
        self, entry_id: str, platform_id: str | None = None, *, keep_payload: bool = False
    ) -> OutboundEntry:
        """See `Outbox.mark_sent`."""
        return await self._apply_transition(
            entry_id, partial(transitions.mark_sent, platform_id=platform_id, keep_payload=keep_payload)
        )

    async def mark_delivered(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.mark_delivered`."""
        return await self._apply_transition(entry_id, transitions.mark_delivered)

    async def mark_failed(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """See `Outbox.mark_failed`."""
        return await self._apply_transition(entry_id, partial(transitions.mark_failed, error=error, reason=reason))

    async def readdress(self, entry_id: str, chat: str) -> OutboundEntry:
        """See `Outbox.readdress`."""
        return await self._apply_transition(entry_id, partial(transitions.readdress, chat=chat))

    async def mark_refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """See `Outbox.mark_refused`."""
        return await self._apply_transition(entry_id, partial(transitions.mark_refused, retry_at=retry_at, error=error))

    async def mark_ambiguous(
        self, entry_id: str, error: str = "", *, retry_at: datetime | None = None
    ) -> OutboundEntry:
        """See `Outbox.mark_ambiguous`."""
        return await self._apply_transition(
            entry_id, partial(transitions.mark_ambiguous, error=error, retry_at=retry_at)
        )

    async def mark_dead(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """See `Outbox.mark_dead`."""
        return await self._apply_transition(entry_id, partial(transitions.mark_dead, error=error, reason=reason))

    async def mark_message_dead(self, entry_id: str, error: str, reason: str = "") -> list[OutboundEntry]:
        """See `Outbox.mark_message_dead`."""
        return await self._database.write(partial(_mark_message_dead, entry_id=entry_id, error=error, reason=reason))

    async def give_up(
        self,
        entry_id: str,
        error: str,
        session_id: str,
        events: DeadLetterEvents,
        *,
        whole_message: bool,
        reason: str = "",
    ) -> tuple[list[OutboundEntry], int]:
        """See `Outbox.give_up`."""
        give_up = _mark_message_dead if whole_message else _give_up

        def write(connection: Connection) -> tuple[list[OutboundEntry], int]:
            dead = give_up(connection, entry_id, error, reason)
            return dead, add_events(connection, session_id=session_id, new=events(dead), at=self._clock.now())

        return await self._database.write(write)

    async def withdraw(self, entry_id: str, reason: str) -> OutboundEntry:
        """See `Outbox.withdraw`."""
        return await self._apply_transition(entry_id, partial(transitions.withdraw, reason=reason))

    async def retry(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.retry`."""
        return await self._apply_transition(entry_id, partial(transitions.retry, at=self._clock.now()))

    async def postpone(self, entry_id: str, until: datetime) -> OutboundEntry:
        """See `Outbox.postpone`."""
        return await self._apply_transition(entry_id, partial(transitions.postpone, until=until))

    async def clear_penalties(self, channel: str) -> int:
        """See `Outbox.clear_penalties`."""
        return await self._database.write(partial(_clear_penalties, channel=channel))

    async def recover_interrupted(self, channel: str) -> list[OutboundEntry]:
        """See `Outbox.recover_interrupted`."""
        return await self._database.write(partial(_recover_interrupted, channel=channel))

    async def expire(self, before: datetime) -> int:
        """See `Outbox.expire`. Uses a transaction per batch."""
        sent = (
            select(outbound.c.number)
            .where(outbound.c.status == "sent", outbound.c.created_at < before)
            .order_by(outbound.c.created_at)
        )
        return await delete_in_batches(self._database, outbound.c.number, sent)

    async def get(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.get`."""
        return await self._database.read(partial(_get, entry_id=entry_id))

    async def find_by_platform_id(self, channel: str, account: str, platform_id: str) -> OutboundEntry | None:
        """See `Outbox.find_by_platform_id`."""
        query = _SELECT_BY_PLATFORM_ID
        found = await self._database.read(
            partial(_find, query=query, channel=channel, account=account, platform_id=platform_id)
        )
        return found[0] if found else None

    async def list(
        self,
        *,
        run_id: str | None = None,
        channel: str | None = None,
        status: OutboundStatus | None = None,
        chat: str | None = None,
        recipient: str | None = None,
        limit: int = 100,
    ) -> list[OutboundEntry]:
        """See `Outbox.list`."""
        query = select(outbound).order_by(outbound.c.number).limit(max(limit, 0))
        wanted = {
            outbound.c.run_id: run_id,
            outbound.c.channel: channel,
            outbound.c.chat: chat,
            outbound.c.recipient: recipient,
        }
        for column, value in wanted.items():
            if value is not None:
                query = query.where(column == value)
        if status is not None:
            query = query.where(IS_DEAD_LETTER if status == "dead" else outbound.c.status == status)
        return await self._database.read(partial(_find, query=query))

    async def count_dead(self) -> int:
        """See `Outbox.count_dead`."""
        return await self._database.read(_count_dead)

    async def _apply_transition(
        self, entry_id: str, transition: Callable[[OutboundEntry], OutboundEntry]
    ) -> OutboundEntry:
        return await self._database.write(partial(_apply_transition, entry_id=entry_id, transition=transition))


def add_entries(connection: Connection, new: Sequence[OutboundEntry]) -> int:
    """Insert entries as `prepare_entries` returns them, of existing runs; return how many were new."""
    return sum(_INSERT.execute(connection, _to_row(entry)) for entry in new)


def _find(connection: Connection, query: Select[Any], **values: Any) -> list[OutboundEntry]:
    return [_to_entry(row) for row in connection.execute(query, values)]


def _add(connection: Connection, new: Sequence[OutboundEntry]) -> int:
    for run_id in dict.fromkeys(entry.run_id for entry in new):
        if run_id is not None and _SELECT_RUN.fetch_row(connection, {"which": run_id}) is None:
            raise NotFound("run", run_id)
    return add_entries(connection, new)


def _apply_transition(
    connection: Connection, entry_id: str, transition: Callable[[OutboundEntry], OutboundEntry]
) -> OutboundEntry:
    before = _get(connection, entry_id)
    return _write(connection, transition(before), before)


def _write(connection: Connection, entry: OutboundEntry, before: OutboundEntry | None = None) -> OutboundEntry:
    changes: dict[str, Any] = {
        "status": entry.status,
        "open": transitions.is_open(entry.status),
        "attempts": entry.attempts,
        "doubtful": entry.doubtful,
        "not_before": entry.not_before,
        "last_error": entry.last_error,
        "platform_id": entry.platform_id,
        "interruptions": entry.interruptions,
        "refusals": entry.refusals,
        "retried_at": entry.retried_at,
        "dead_reason": entry.dead_reason,
        "delivered": entry.delivered,
    }
    if before is not None and entry.chat != before.chat:
        changes["chat"] = entry.chat
    if before is not None and entry.payload is not before.payload:
        changes["payload"] = entry.payload
    connection.execute(_UPDATE.values(changes), {"which": entry.id})
    return entry


def _give_up(connection: Connection, entry_id: str, error: str, reason: str) -> list[OutboundEntry]:
    return [_apply_transition(connection, entry_id, partial(transitions.give_up, error=error, reason=reason))]


def _mark_message_dead(connection: Connection, entry_id: str, error: str, reason: str) -> list[OutboundEntry]:
    entry = _get(connection, entry_id)
    dead = [_write(connection, transitions.mark_dead(entry, error, reason))]
    rows = connection.execute(
        _SELECT_OPEN_OF_CHAT, {"channel": entry.channel, "account": entry.account, "chat": entry.chat}
    ).all()
    others = [other for other in map(_to_entry, rows) if transitions.is_same_message(entry, other)]
    return dead + [_write(connection, transitions.mark_dead(other, error, reason)) for other in others]


def _clear_penalties(connection: Connection, channel: str) -> int:
    return connection.execute(_CLEAR_PENALTIES, {"which": channel}).rowcount


def _find_next_due(connection: Connection, after: datetime, channel: str) -> datetime | None:
    due: datetime | None = connection.execute(_SELECT_NEXT_DUE, {"after": after, "channel": channel}).scalar_one()
    return due


def _count_dead(connection: Connection) -> int:
    return connection.execute(_COUNT_DEAD).scalar_one()


def _recover_interrupted(connection: Connection, channel: str) -> list[OutboundEntry]:
    interrupted = connection.execute(_SELECT_SENDING, {"channel": channel}).all()
    return [_apply_transition(connection, row.id, transitions.mark_interrupted) for row in interrupted]


def _get(connection: Connection, entry_id: str) -> OutboundEntry:
    row = connection.execute(_SELECT, {"which": entry_id}).one_or_none()
    if row is None:
        raise NotFound("outbound entry", entry_id)
    return _to_entry(row)


def _to_row(entry: OutboundEntry) -> dict[str, Any]:
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
        "open": transitions.is_open(entry.status),
        "attempts": entry.attempts,
        "doubtful": entry.doubtful,
        "last_error": entry.last_error,
        "platform_id": entry.platform_id,
        "created_at": entry.created_at,
        "interruptions": entry.interruptions,
        "refusals": entry.refusals,
        "retried_at": entry.retried_at,
        "recipient": entry.recipient,
        "dead_reason": entry.dead_reason,
        "delivered": entry.delivered,
    }


def _to_entry(row: Row[Any]) -> OutboundEntry:
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
        row.interruptions,
        row.refusals,
        row.retried_at,
        row.recipient,
        row.dead_reason,
        row.delivered,
    )
