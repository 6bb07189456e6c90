"""SQL statements of the outbox: functions that read and write entries within a caller's transaction."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, or_, select, update

from sophon.errors import NotFound
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon_channels.outbound_entry import OutboundEntry, is_open
from sophon_hosting.store.outbound_rows import ENTRY_COLUMNS
from sophon_hosting.store.outbox import transitions
from sophon_hosting.store.tables import IS_DEAD_LETTER, outbound

_CHANGING = (
    *("status", "attempts", "doubtful", "not_before", "last_error", "platform_id", "interruptions", "refusals"),
    *("retried_at", "dead_reason", "delivered"),
)
"""Columns that transitions change, besides chat and payload."""

_COLUMN_NAMES = [column.name for column in outbound.c]
_SELECT = PreparedStatement(lambda _: select(outbound).where(outbound.c.id == bindparam("which")))
_UPDATE = update(outbound).where(outbound.c.id == bindparam("which"))


def _first_open_per_chat(now: str) -> Select[Any]:
    """Select the number of the first open entry of each chat that is not held until later than the parameter `now`."""
    is_due = or_(outbound.c.status != "held", outbound.c.not_before.is_(None), outbound.c.not_before <= bindparam(now))
    return (
        select(func.min(outbound.c.number))
        .where(outbound.c.channel == bindparam("channel"), outbound.c.open, is_due)
        .group_by(outbound.c.account, outbound.c.chat)
    )


# Each channel runs them every second in a group of processes.
_SELECT_DUE = PreparedStatement(
    lambda _: (
        select(outbound)
        .where(
            outbound.c.number.in_(_first_open_per_chat("now")),
            outbound.c.status != "sending",
            or_(outbound.c.not_before.is_(None), outbound.c.not_before <= bindparam("now")),
        )
        .order_by(outbound.c.number)
        .limit(bindparam("most"))
    )
)
_SELECT_NEXT_DUE = PreparedStatement(
    lambda _: select(func.min(outbound.c.not_before)).where(
        outbound.c.channel == bindparam("channel"),
        outbound.c.open,
        or_(outbound.c.number.in_(_first_open_per_chat("after")), outbound.c.status == "held"),
        outbound.c.status != "sending",
        outbound.c.not_before > bindparam("after"),
    )
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
SELECT_BY_PLATFORM_ID = (
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


def find_entries(connection: Connection, query: Select[Any], **values: Any) -> list[OutboundEntry]:
    """Return the entries that a query of whole rows selects."""
    return [_to_entry(row) for row in connection.execute(query, values)]


def list_due(connection: Connection, channel: str, now: datetime, most: int) -> list[OutboundEntry]:
    """Return the entries of a channel to send now, at most one per chat."""
    rows = _SELECT_DUE.fetch_rows(connection, {"channel": channel, "now": now, "most": most})
    return [_entry_from_values(row) for row in rows]


def apply_transition(
    connection: Connection, entry_id: str, transition: Callable[[OutboundEntry], OutboundEntry]
) -> OutboundEntry:
    """Read an entry, and write what the transition makes of it. Raises NotFound, IllegalTransition."""
    before = get_entry(connection, entry_id)
    return _write(connection, transition(before), before)


def _write(connection: Connection, entry: OutboundEntry, before: OutboundEntry | None = None) -> OutboundEntry:
    changes: dict[str, Any] = {name: getattr(entry, name) for name in _CHANGING} | {"open": is_open(entry.status)}
    if before is not None and entry.chat != before.chat:
        changes["chat"] = entry.chat
    if before is not None and entry.payload is not before.payload:
        changes["payload"] = entry.payload
    connection.execute(_UPDATE.values(changes), {"which": entry.id})
    return entry


def give_up(connection: Connection, entry_id: str, error: str, reason: str) -> list[OutboundEntry]:
    """Apply `transitions.give_up` to an entry; return it in a list."""
    return [apply_transition(connection, entry_id, partial(transitions.give_up, error=error, reason=reason))]


def mark_message_dead(connection: Connection, entry_id: str, error: str, reason: str) -> list[OutboundEntry]:
    """Mark an entry and the open entries of the same message dead; return them."""
    entry = get_entry(connection, entry_id)
    dead = [_write(connection, transitions.mark_dead(entry, error, reason))]
    rows = connection.execute(
        _SELECT_OPEN_OF_CHAT, {"channel": entry.channel, "account": entry.account, "chat": entry.chat}
    ).all()
    others = [other for other in map(_to_entry, rows) if transitions.is_same_message(entry, other)]
    return dead + [_write(connection, transitions.mark_dead(other, error, reason)) for other in others]


def clear_penalties(connection: Connection, channel: str) -> int:
    """Make what waits in a channel due at once; return the number of entries."""
    return connection.execute(_CLEAR_PENALTIES, {"which": channel}).rowcount


def find_next_due(connection: Connection, after: datetime, channel: str) -> datetime | None:
    """Return the first time after `after` at which an entry of a channel becomes due; None if there is none."""
    found = _SELECT_NEXT_DUE.fetch_row(connection, {"after": after, "channel": channel})
    return None if found is None else found[0]


def count_dead(connection: Connection) -> int:
    """Return the number of dead letters."""
    return connection.execute(_COUNT_DEAD).scalar_one()


def recover_interrupted(connection: Connection, channel: str) -> list[OutboundEntry]:
    """Apply `transitions.mark_interrupted` to what a channel was sending; return the entries."""
    interrupted = connection.execute(_SELECT_SENDING, {"channel": channel}).all()
    return [apply_transition(connection, row.id, transitions.mark_interrupted) for row in interrupted]


def get_entry(connection: Connection, entry_id: str) -> OutboundEntry:
    """Return an entry. Raises NotFound."""
    row = _SELECT.fetch_row(connection, {"which": entry_id})
    if row is None:
        raise NotFound("outbound entry", entry_id)
    return _entry_from_values(row)


def _entry_from_values(values: Sequence[Any]) -> OutboundEntry:
    row = dict(zip(_COLUMN_NAMES, values, strict=True))
    return OutboundEntry(**{name: row[name] for name in ENTRY_COLUMNS})


def _to_entry(row: Row[Any]) -> OutboundEntry:
    return OutboundEntry(**{name: getattr(row, name) for name in ENTRY_COLUMNS})
