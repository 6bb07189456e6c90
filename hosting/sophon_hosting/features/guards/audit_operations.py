"""Operations on the audit log: list its entries, verify its chain; for operators only."""

import os
from datetime import UTC, datetime
from typing import Annotated, Final

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon.risk import RiskLabel
from sophon.security.authorization.capability_levels import CapabilityLevel
from sophon.stores.audit.audit_event import AuditFilter, AuditKind
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.guards.audit_heads import verify_store
from sophon_hosting.features.guards.results import (
    AuditPage,
    AuditVerificationView,
    audit_entry_to_json,
    audit_verification_to_json,
)
from sophon_hosting.operations.request import Doc, Limit, NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("guards")

Name = Annotated[str, ValueRules(min_length=1, max_length=200)]

MAX_NUMBER: Final = 2**53
"""Largest number that JSON carries exactly."""


class ListAudit(Request):
    """A page of the audit log: what the entries must have. A time without a zone is in UTC."""

    session_id: Annotated[Name | None, Doc("Calls of this session.")] = None
    chat: Annotated[Name | None, Doc("Calls of messages from this chat.")] = None
    principal: Annotated[Name | None, Doc("Calls for this user.")] = None
    tool: Annotated[Name | None, Doc("Calls of this tool.")] = None
    capability: Annotated[Name | None, Doc("Calls of this action type.")] = None
    capability_level: Annotated[CapabilityLevel | None, Doc("Calls of tools of this level.")] = None
    risk: Annotated[RiskLabel | None, Doc("Calls of tools of this risk.")] = None
    event: Annotated[AuditKind | None, Doc("What happened.")] = None
    outcome: Annotated[Name | None, Doc("Entries with this outcome or verdict.")] = None
    since: Annotated[Name | None, Doc("From this time on, as 2026-01-31T12:00.")] = None
    until: Annotated[Name | None, Doc("Before this time.")] = None
    before: Annotated[int | None, ValueRules(ge=1, le=MAX_NUMBER), Doc("The page before this entry.")] = None
    limit: Limit = 50

    def check(self) -> None:
        """Check the times."""
        _parse_time("since", self.since)
        _parse_time("until", self.until)


@table.operation("GET /api/audit", needs="Operator")
async def list_audit(caller: Caller, request: ListAudit) -> AuditPage:
    """List the entries, the newest first. A time without a zone is in UTC.

    `more` says whether there are older ones.
    """
    wanted = AuditFilter(
        event=request.event,
        session_id=request.session_id,
        chat=request.chat,
        principal=request.principal,
        tool=request.tool,
        capability=request.capability,
        capability_level=request.capability_level,
        risk=request.risk,
        outcome=request.outcome,
        since=_parse_time("since", request.since),
        until=_parse_time("until", request.until),
    )
    found = await caller.store.audit.list_entries(wanted, before=request.before, limit=request.limit + 1)
    page = found[: request.limit]
    return {"items": [audit_entry_to_json(each) for each in page], "more": len(found) > len(page)}


@table.operation("GET /api/audit/verify", needs="Operator", errors=(InputError,))
async def verify_audit_log(caller: Caller, request: NoFields) -> AuditVerificationView:
    """Check every hash and the signed head.

    `broken` is the number of the first entry that breaks the chain, `problem` says why.
    """
    return audit_verification_to_json(await verify_store(caller.store, caller.settings, caller.folder, os.environ))


def _parse_time(name: str, value: str | None) -> datetime | None:
    """Return a time, in UTC if it names no zone. Raises ValueError."""
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{name}: {value!r} is no time; write 2026-01-31 or 2026-01-31T12:00") from None
