"""SQL audit log: a row per entry, and one row with the ends of the chain, which an appending transaction locks."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, bindparam, delete, insert, or_, select, update

from sophon.clock import to_utc
from sophon.security.audit.audit_chain import GENESIS, AuditEntry, chain_entry, verify_audit
from sophon.security.audit.audit_head import AuditHead
from sophon.security.authorization.capability_levels import list_conditions
from sophon.stores.audit.audit_event import (
    ALL_ENTRIES,
    COLUMNS,
    AuditChainState,
    AuditEvent,
    AuditFilter,
    AuditVerification,
)
from sophon.stores.sql.batched_deletion import EXPIRE_BATCH_SIZE, write_in_batches
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import audit, audit_chain
from sophon.stores.unit_of_work import WriteKind

CHAIN_NUMBER = 1
"""Number of the one row with the ends of the chain; the first append inserts it."""

_EMPTY = AuditChainState(0, GENESIS, 0, GENESIS)

_STATE = select(
    audit_chain.c.last_number, audit_chain.c.last_hash, audit_chain.c.anchor_number, audit_chain.c.anchor_hash
)

_SELECT_STATE = PreparedStatement(lambda _: _STATE.where(audit_chain.c.number == bindparam("chain")))

_CREATE = PreparedStatement(lambda _: insert(audit_chain))

_EMPTY_ROW = {"last_number": 0, "last_hash": GENESIS, "anchor_number": 0, "anchor_hash": GENESIS}

_INSERT = PreparedStatement(lambda _: insert(audit))

_ADVANCE = PreparedStatement(
    lambda _: (
        update(audit_chain)
        .where(audit_chain.c.number == bindparam("chain"))
        .values(last_number=bindparam("new_number"), last_hash=bindparam("new_hash"))
    )
)


class AuditStore(Repository):
    """Repository of the audit log. No operation changes an entry, except that its texts are blanked."""

    chat = ""
    """Chat that the appended entries get; "": their own."""

    async def append(self, events: Sequence[AuditEvent]) -> None:
        """Append entries to the chain, all or none; ValueError for a time without a zone."""
        own = [replace(event, chat=self.chat) for event in events] if self.chat else tuple(events)
        if own:
            await self._database.add(WriteKind.AUDIT, partial(append_audit_events, events=own))

    async def list_entries(
        self, wanted: AuditFilter = ALL_ENTRIES, *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Return entries, the newest first; `before` is the number of the last entry of the previous page."""
        query = select(audit).where(_condition(wanted)).order_by(audit.c.number.desc()).limit(max(limit, 0))
        if before is not None:
            query = query.where(audit.c.number < before)
        return await self._database.read(
            lambda connection: [_entry(row) for row in connection.execute(query).mappings()]
        )

    async def list_after(self, number: int, limit: int = 1000) -> list[AuditEntry]:
        """Return the entries after a number, the oldest first: the pages of an export."""
        query = select(audit).where(audit.c.number > number).order_by(audit.c.number).limit(max(limit, 0))
        return await self._database.read(
            lambda connection: [_entry(row) for row in connection.execute(query).mappings()]
        )

    async def verify(self, head: AuditHead | None = None) -> AuditVerification:
        """Check every hash, every text, and that no entry is missing between the two ends of the chain.

        With a head that was signed, the chain must contain its entry, too. Reads one snapshot, so that a host may
        append meanwhile.
        """
        return await self._database.read(partial(_verify, head=head))

    async def blank_texts(self, principal: str) -> int:
        """Blank the texts of the entries of a person; return how many had any.

        The chain stays valid. Uses a transaction per batch.
        """
        condition = (audit.c.principal == principal) & audit.c.texts.is_not(None)
        return await write_in_batches(self._database, partial(_blank_batch, condition=condition))

    async def expire(self, before: datetime) -> int:
        """Delete the oldest entries up to the first one that is not older; return how many.

        The hash of the last deleted one stays: the chain is verified from there. Uses a transaction per batch.
        """
        return await write_in_batches(self._database, partial(_expire, before=before))


def append_audit_events(connection: Connection, events: Sequence[AuditEvent]) -> None:
    """Chain and insert entries, in the caller's transaction: the numbers of concurrent ones follow each other."""
    if not events:
        return
    for event in events:
        to_utc(event.at)  # raises ValueError for a time without a zone, before anything is written
    state = _read_state(connection)
    previous = AuditEntry(state.number, {}, "", state.hash) if state.number else None
    rows: list[dict[str, Any]] = []
    for event in events:
        salts = {name: secrets.token_hex(16) for name in event.texts}
        previous = chain_entry(previous, event.build_fields(), event.texts, salts)
        rows.append(_row(previous, event))
    assert previous is not None
    _INSERT.execute_many(connection, rows)
    _ADVANCE.execute(connection, {"chain": CHAIN_NUMBER, "new_number": previous.number, "new_hash": previous.hash})


def blank_session_texts(connection: Connection, session_id: str) -> None:
    """Blank the texts of a session that is deleted, in the caller's transaction."""
    connection.execute(update(audit).where(audit.c.session_id == session_id).values(texts=None, salts=None))


def _row(entry: AuditEntry, event: AuditEvent) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": event.at,
        **{name: getattr(event, name) for name in COLUMNS},
        "digests": dict(entry.digests),
        "texts": dict(entry.texts) or None,
        "salts": dict(entry.salts) or None,
        "previous_hash": entry.previous_hash,
        "hash": entry.hash,
    }


def _entry(columns: RowMapping) -> AuditEntry:
    """Return the entry of a row. Its fields are those of the columns: a changed column breaks the hash."""
    at = columns["at"].astimezone(UTC).isoformat(timespec="microseconds")
    fields = {"at": at, **{name: columns[name] for name in COLUMNS}}
    digests: Mapping[str, str] = columns["digests"]
    blank = dict.fromkeys(digests)
    texts, salts = columns["texts"] or blank, columns["salts"] or blank
    return AuditEntry(columns["number"], fields, columns["previous_hash"], columns["hash"], digests, texts, salts)


def _read_state(connection: Connection) -> AuditChainState:
    found = _SELECT_STATE.fetch_row(connection, {"chain": CHAIN_NUMBER})
    if found is None:
        _CREATE.execute(connection, {"number": CHAIN_NUMBER, **_EMPTY_ROW})
        return _EMPTY
    return AuditChainState(*found)


def _verify(connection: Connection, head: AuditHead | None) -> AuditVerification:
    found = connection.execute(_STATE).one_or_none()
    state = AuditChainState(*found) if found is not None else _EMPTY
    rows = connection.execution_options(yield_per=EXPIRE_BATCH_SIZE).execute(select(audit).order_by(audit.c.number))
    return verify_entries((_entry(row) for row in rows.mappings()), state, head)


def _blank_batch(connection: Connection, condition: ColumnElement[bool]) -> int:
    numbers = select(audit.c.number).where(condition).limit(EXPIRE_BATCH_SIZE)
    return connection.execute(
        update(audit)
        .where(audit.c.number.in_(list(connection.execute(numbers).scalars())))
        .values(texts=None, salts=None)
    ).rowcount


def _expire(connection: Connection, before: datetime) -> int:
    """Delete one batch of the oldest entries, up to the first one that is not older than `before`."""
    oldest = connection.execute(
        select(audit.c.number, audit.c.at, audit.c.hash).order_by(audit.c.number).limit(EXPIRE_BATCH_SIZE)
    ).all()
    last = None
    for row in oldest:
        if row.at >= before:
            break
        last = row
    if last is None:
        return 0
    connection.execute(update(audit_chain).values(anchor_number=last.number, anchor_hash=last.hash))
    return connection.execute(delete(audit).where(audit.c.number <= last.number)).rowcount


def _condition(wanted: AuditFilter) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [audit.c[name] == value for name, value in wanted.find_wanted().items()]
    if wanted.since is not None:
        conditions.append(audit.c.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(audit.c.at < wanted.until)
    if wanted.capability_level is not None:
        conditions.append(or_(False, *map(_has_level, list_conditions(wanted.capability_level))))
    return and_(True, *conditions)


def _has_level(condition: tuple[str, frozenset[str], bool]) -> ColumnElement[bool]:
    risk, actions, all_others = condition
    of_action = audit.c.capability.not_in(actions) if all_others else audit.c.capability.in_(actions)
    return and_(audit.c.risk == risk, of_action)


def verify_entries(
    entries: Iterable[AuditEntry], state: AuditChainState, head: AuditHead | None = None
) -> AuditVerification:
    """Return the first entry that breaks the chain from its anchor to its newest entry.

    The two ends show a deletion at the beginning or at the end, which the entries alone do not. A signed head shows the
    same where the ends were changed with them.
    """
    previous_number, previous_hash = state.anchor_number, state.anchor_hash
    count = 0
    for entry in entries:
        if entry.number != previous_number + 1:
            missing = previous_number + 1
            return AuditVerification(count, missing, f"the entry {missing} is missing; {entry.number} follows")
        if verify_audit([entry.to_line()], previous_hash=previous_hash) is not None:
            return AuditVerification(count, entry.number, f"the entry {entry.number} was changed")
        if head is not None and entry.number == head.number and entry.hash != head.hash:
            return AuditVerification(count, entry.number, f"the entry {entry.number} is not the one that was signed")
        previous_number, previous_hash, count = entry.number, entry.hash, count + 1
    if (previous_number, previous_hash) == (state.number, state.hash):
        return _compare_ends(count, state, head)
    if previous_number == state.number:
        return AuditVerification(count, state.number, f"the entry {state.number} is not the one that was appended")
    missing = previous_number + 1
    return AuditVerification(count, missing, f"the entry {missing} is missing: the chain ends at {state.number}")


def _compare_ends(count: int, state: AuditChainState, head: AuditHead | None) -> AuditVerification:
    """Return whether an intact chain reaches from before the signed entry up to it."""
    if head is None or state.anchor_number < head.number <= state.number:
        return AuditVerification(count)
    if head.number > state.number:
        missing = state.number + 1
        return AuditVerification(count, missing, f"the entry {missing} is missing: the signed head is {head.number}")
    # A host signs within a minute, and retention keeps the entries of a day.
    if (head.number, head.hash) == (state.anchor_number, state.anchor_hash):
        return AuditVerification(count)
    return AuditVerification(count, head.number, f"the entry {head.number}, which was signed, is not there")
