"""Insertion of an approval request, for the approval store and for the transactions of a turn."""

from datetime import datetime

from sqlalchemy import Connection

from sophon.approvals import ApprovalRequest
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.schema import approvals


def insert_request(connection: Connection, request: ApprovalRequest, at: datetime) -> None:
    """Insert a request; one with a known id changes nothing."""
    values = {"id": request.id, "session_id": request.session_id, "request": request.to_json(), "asked_at": at}
    connection.execute(build_insert(connection.dialect.name, approvals).on_conflict_do_nothing(), values)
