"""SQL approval store."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, exists, select, update

from sophon.approvals import ApprovalRequest, Decision, turn_id_from_request
from sophon.errors import NotFound
from sophon.stores.sql.batched_deletion import delete_in_batches
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.store_part import StorePart
from sophon_hosting.store.approval_writes import insert_request
from sophon_hosting.store.approvals.approval_record import (
    ApprovalRecord,
    DecisionEvents,
    no_decision_events,
)
from sophon_hosting.store.events.sql import add_events
from sophon_hosting.store.runs.contract import UNFINISHED_STATUSES
from sophon_hosting.store.runs.sql_statements import UPDATE_SIGNAL
from sophon_hosting.store.tables import approvals, runs

_COLUMNS = (approvals.c.request, approvals.c.asked_at, approvals.c.decision, approvals.c.decided_at)
_SELECT = PreparedStatement(lambda _: select(*_COLUMNS).where(approvals.c.id == bindparam("which")))


class ApprovalStore(StorePart):
    """Repository of approvals. The first decision wins, also among concurrent ones."""

    @classmethod
    def delete_session(cls, connection: Connection, session_id: str) -> None:
        """See `StorePart.delete_session`."""
        connection.execute(delete(approvals).where(approvals.c.session_id == session_id))

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """Store a request and return its record; a known id returns the existing record, decision included."""
        return await self._database.write(partial(_get_or_create, request=request, at=at))

    async def decide(
        self, approval_id: str, decision: Decision, at: datetime, events: DecisionEvents = no_decision_events
    ) -> ApprovalRecord:
        """Store the decision if there is none, and return the resulting record. Raises NotFound.

        Its events are stored in the same transaction: whoever reads the decision finds them.
        The same write signals the run of the request (see `RunStore.list_pending`).
        """
        return await self._database.write(
            partial(_decide, approval_id=approval_id, decision=decision, at=at, events=events)
        )

    async def get(self, approval_id: str) -> ApprovalRecord:
        """Return one record. Raises NotFound."""
        return await self._database.read(partial(_get, approval_id=approval_id))

    async def find(self, approval_id: str) -> ApprovalRecord | None:
        """Return one record; None if it does not exist."""
        return await self._database.read(partial(_find, approval_id=approval_id))

    async def expire(self, before: datetime) -> int:
        """Delete the records that were decided before a time, in sessions without an unfinished run.

        Returns how many. A suspended run still needs the decisions of its calls. Uses a transaction per batch.
        """
        is_needed = exists().where(runs.c.session_id == approvals.c.session_id, runs.c.status.in_(UNFINISHED_STATUSES))
        decided = (
            select(approvals.c.number).where(approvals.c.decided_at < before, ~is_needed).order_by(approvals.c.number)
        )
        return await delete_in_batches(self._database, approvals.c.number, decided)

    async def list(self, *, open_only: bool = True, session_id: str | None = None) -> list[ApprovalRecord]:
        """Return the records, oldest first."""
        query, wanted = _select_list(open_only=open_only, of_session=session_id is not None), {"session": session_id}
        return await self._database.read(lambda connection: [*map(_record, connection.execute(query, wanted))])


@cache
def _select_list(*, open_only: bool, of_session: bool) -> "Select[*tuple[Any, ...]]":
    """Return the query of records, oldest first. Each channel lists the open ones every few seconds."""
    query = select(*_COLUMNS).order_by(approvals.c.asked_at, approvals.c.number)
    if open_only:
        query = query.where(approvals.c.decision.is_(None))
    if of_session:
        query = query.where(approvals.c.session_id == bindparam("session"))
    return query


def _get_or_create(connection: Connection, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
    insert_request(connection, request, at)
    return _get(connection, request.id)


def _decide(
    connection: Connection, approval_id: str, decision: Decision, at: datetime, events: DecisionEvents
) -> ApprovalRecord:
    unanswered = (approvals.c.id == approval_id) & approvals.c.decision.is_(None)
    values = {"decision": decision.to_json(), "decided_at": at}
    is_first = connection.execute(update(approvals).where(unanswered).values(values)).rowcount
    record = _get(connection, approval_id)
    if not is_first:
        return record
    connection.execute(UPDATE_SIGNAL, {"which": turn_id_from_request(record.request)})
    rows = events()
    seq = add_events(connection, record.request.session_id, rows, at) if rows else 0
    return replace(record, was_decided_now=True, event_seq=seq)


def _get(connection: Connection, approval_id: str) -> ApprovalRecord:
    record = _find(connection, approval_id)
    if record is None:
        raise NotFound("approval", approval_id)
    return record


def _find(connection: Connection, approval_id: str) -> ApprovalRecord | None:
    row = _SELECT.fetch_row(connection, {"which": approval_id})
    return None if row is None else _record(row)


def _record(row: Sequence[Any]) -> ApprovalRecord:
    request, asked_at, decision, decided_at = row
    given = Decision.from_json(decision) if decision is not None else None
    return ApprovalRecord(ApprovalRequest.from_json(request), asked_at, given, decided_at)
