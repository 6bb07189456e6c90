"""Events of approval requests."""

from sophon.approvals import ApprovalRequest
from sophon.events import ApprovalRequested


def build_request_event(request: ApprovalRequest) -> ApprovalRequested:
    """Return the `ApprovalRequested` event of a request, without session and run."""
    return ApprovalRequested(
        approval_id=request.id,
        call_id=request.call_id,
        kind=request.kind,
        tool=request.tool,
        risk=request.risk.label,
        arguments=request.arguments,
        preview=request.preview,
        editable=request.editable,
        expires_at=request.expires_at.isoformat() if request.expires_at else None,
        full_preview=request.full_preview,
        needs_operator=request.needs_operator,
        escalation=request.escalation.to_json() if request.escalation else None,
        grant_offer=request.grant_offer,
    )
