"""`/api/audit`: the audit log, and the verification of its chain; for operators only."""

import os
from datetime import UTC, datetime
from typing import Annotated

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon.risk import RiskLabel
from sophon.security.capability_levels import CapabilityLevel
from sophon.stores.audit.contract import AuditFilter, AuditKind
from sophon_hosting.audit_heads import verify_store
from sophon_hosting.features.guards.results import AuditPage, audit_entry_to_json, audit_verification_to_json
from sophon_hosting.http.json_io import RequestQuery, get_operator, json_response, parse_query

Name = Annotated[str, ValueRules(min_length=1, max_length=200)]


class AuditQuery(RequestQuery):
    """Query of the list: what the entries must have, `before` (a number) and `limit`."""

    event: AuditKind | None = None
    session_id: Name | None = None
    chat: Name | None = None
    principal: Name | None = None
    tool: Name | None = None
    capability: Name | None = None
    capability_level: CapabilityLevel | None = None
    risk: RiskLabel | None = None
    outcome: Name | None = None
    since: Name | None = None
    until: Name | None = None
    before: Annotated[int, ValueRules(ge=1, le=2**53)] | None = None
    limit: Annotated[int, ValueRules(ge=1, le=200)] = 50


routes = web.RouteTableDef()


@routes.get("/api/audit")
async def list_entries(request: web.Request) -> web.Response:
    """List entries, the newest first; `more` says whether there are older ones."""
    query = parse_query(request, AuditQuery)
    wanted = AuditFilter(
        event=query.event,
        session_id=query.session_id,
        chat=query.chat,
        principal=query.principal,
        tool=query.tool,
        capability=query.capability,
        capability_level=query.capability_level,
        risk=query.risk,
        outcome=query.outcome,
        since=parse_time("since", query.since),
        until=parse_time("until", query.until),
    )
    entries = get_operator(request).store.audit
    found = await entries.list_entries(wanted, before=query.before, limit=query.limit + 1)
    page = found[: query.limit]
    listed: AuditPage = {"items": [audit_entry_to_json(each) for each in page], "more": len(found) > len(page)}
    return json_response(listed)


@routes.get("/api/audit/verify")
async def verify_chain(request: web.Request) -> web.Response:
    """Check every hash and the signed head.

    `broken` is the number of the first entry that breaks the chain, `problem` says why.
    """
    services = get_operator(request).host.services
    found = await verify_store(services.store, services.settings, services.folder, os.environ)
    return json_response(audit_verification_to_json(found))


def parse_time(name: str, value: str | None) -> datetime | None:
    """Return the time of a parameter, in UTC if it names no zone. Raises InputError."""
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InputError(f"{name}: {value!r} is no time; write 2026-01-31 or 2026-01-31T12:00") from None
