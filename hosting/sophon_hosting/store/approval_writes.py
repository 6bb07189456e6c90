"""Approval requests in the transactions of a turn: those that it asks, and those that its outcome decides."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, select, update

from sophon.approvals import ApprovalRequest, Decision, turn_id_from_request
from sophon.stores.sql.dialects import build_insert
from sophon_hosting.store.tables import approvals


def insert_request(connection: Connection, request: ApprovalRequest, at: datetime) -> None:
    """Insert a request; one with a known id changes nothing."""
    values = {"id": request.id, "session_id": request.session_id, "request": request.to_json(), "asked_at": at}
    connection.execute(build_insert(connection.dialect.name, approvals).on_conflict_do_nothing(), values)


def decide_open_requests(
    connection: Connection, session_id: str, run_id: str, decision: Decision, at: datetime
) -> Sequence[ApprovalRequest]:
    """Decide the requests of a run that nobody has decided, and return them, oldest first."""
    is_open = (approvals.c.session_id == session_id) & approvals.c.decision.is_(None)
    query = select(approvals.c.request).where(is_open).order_by(approvals.c.asked_at, approvals.c.number)
    found = [ApprovalRequest.from_json(row.request) for row in connection.execute(query)]
    requests = [request for request in found if turn_id_from_request(request) == run_id]
    for request in requests:
        values = {"decision": decision.to_json(), "decided_at": at}
        connection.execute(update(approvals).where(approvals.c.id == request.id).values(values))
    return requests
