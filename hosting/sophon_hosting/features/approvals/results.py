"""Results of approvals: questions with their decisions, and approvals in advance."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.approvals import ApprovalKind, GrantScope, Verdict, turn_id_from_request
from sophon.events.payload_objects import EscalationDetail
from sophon.risk import RiskLabel
from sophon.stores.grants.contract import StandingGrant
from sophon_hosting.events.large_fields import LargeFieldReference
from sophon_hosting.features.iso_time import to_iso
from sophon_hosting.store.approvals.approval_record import ApprovalRecord


class ApprovalView(TypedDict):
    """An approval: what is asked, and the decision if there is one; `large` if fields are cut, as in events."""

    approval_id: str
    kind: ApprovalKind
    session_id: str
    task_id: str
    run_id: str
    call_id: str
    tool: str
    risk: RiskLabel
    arguments: dict[str, Any]
    preview: str
    full_preview: str
    editable: bool
    needs_operator: bool
    escalation: EscalationDetail | None
    grant_offer: str
    asked_at: str
    expires_at: str | None
    status: Literal["open", "decided"]
    decision: Verdict | None
    decided_by: str | None
    grant: GrantScope | None
    decided_at: str | None
    reason: str | None
    edited_arguments: dict[str, Any] | None
    large: NotRequired[dict[str, LargeFieldReference]]


class ApprovalList(TypedDict):
    """Approvals, oldest first."""

    items: list[ApprovalView]


class ApprovalSlice(TypedDict):
    """As many approvals as fit into an acknowledgement; `more` if there are others."""

    items: list[ApprovalView]
    more: NotRequired[bool]


class DecidedApproval(TypedDict):
    """Status of an approval after a decision."""

    approval_id: str
    task_id: str
    status: Literal["approved", "rejected", "edited", "answered"]


class GrantView(TypedDict):
    """An approval in advance; `covers` is the pattern of arguments as text, `session_id` null for all conversations."""

    grant_id: str
    scope: GrantScope
    user: str
    session_id: str | None
    chat: str | None
    tool: str
    covers: str
    granted_by: str
    granted_at: str
    expires_at: str


class GrantList(TypedDict):
    """Approvals in advance that are neither revoked nor expired, oldest first."""

    items: list[GrantView]


STATUS_BY_VERDICT: Final[Mapping[str, Literal["approved", "rejected", "edited", "answered"]]] = {
    "approve": "approved",
    "reject": "rejected",
    "edit": "edited",
    "answer": "answered",
}
"""Status of an approval by the verdict of its decision."""


def approval_to_json(record: ApprovalRecord) -> ApprovalView:
    """Return an approval as JSON, with its decision if there is one."""
    request, decision = record.request, record.decision
    return {
        "approval_id": request.id,
        "kind": request.kind,
        "session_id": request.session_id,
        "task_id": turn_id_from_request(request),
        "run_id": request.run_id,
        "call_id": request.call_id,
        "tool": request.tool,
        "risk": request.risk.label,
        "arguments": dict(request.arguments),
        "preview": request.preview,
        "full_preview": request.full_preview,
        "editable": request.editable,
        "needs_operator": request.needs_operator,
        "escalation": cast(EscalationDetail, request.escalation.to_json()) if request.escalation else None,
        "grant_offer": request.grant_offer,
        "asked_at": record.asked_at.isoformat(),
        "expires_at": to_iso(request.expires_at),
        "status": "decided" if decision else "open",
        "decision": decision.verdict if decision else None,
        "decided_by": decision.decided_by if decision else None,
        "grant": decision.grant if decision else None,
        "decided_at": to_iso(record.decided_at),
        "reason": decision.reason if decision else None,
        "edited_arguments": dict(decision.arguments) if decision and decision.verdict == "edit" else None,
    }


def grant_to_json(grant: StandingGrant) -> GrantView:
    """Return an approval in advance as JSON; the pattern of arguments as the text that the person saw."""
    return {
        "grant_id": grant.id,
        "scope": grant.scope,
        "user": grant.principal,
        "session_id": grant.session_id or None,
        "chat": grant.chat or None,
        "tool": grant.tool,
        "covers": grant.description,
        "granted_by": grant.granted_by,
        "granted_at": grant.granted_at.isoformat(),
        "expires_at": grant.expires_at.isoformat(),
    }
