"""Events of guards and approvals."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.events.base import Event
from sophon.events.payload_objects import EscalationDetail
from sophon.events.visibility import Plain
from sophon.redaction_hook import redact

GuardDecision: TypeAlias = Literal["allow", "block", "escalate"]


@dataclass(slots=True, kw_only=True)
class GuardVerdict(Event):
    """A guard judged a tool call: `escalate` asks a person, or a higher `tier` of Shield; `rule` names what decided.

    `arguments` are those of a blocked call, for which there is no `tool_call_started`; empty for other verdicts.
    """

    unique_by = ("run_id", "call_id", "guard", "verdict", "rule")

    call_id: Plain
    guard: Plain
    verdict: GuardDecision
    rule: Plain = ""
    tier: int = 0
    reason: str = ""
    tool: Plain = ""
    arguments: Mapping[str, Any] = field(default_factory=new_dict)

    def __post_init__(self) -> None:
        self.reason = redact(self.reason)


@dataclass(slots=True, kw_only=True)
class ApprovalRequested(Event):
    """An approval was requested; the turn, or this call of it, waits for the decision.

    `escalation` is `{guard, rule, reason}` if a guard asks, whatever the risk is; null otherwise.
    """

    audience = "operators"
    is_approval = True
    unique_by = ("approval_id",)

    approval_id: Plain
    kind: Plain
    tool: Plain
    risk: Plain
    arguments: Mapping[str, Any]
    preview: str
    editable: bool = False
    expires_at: Plain | None = None
    full_preview: str = ""
    needs_operator: bool = False
    call_id: Plain = ""
    escalation: Annotated[Mapping[str, Any], EscalationDetail] | None = None
    grant_offer: str = ""


@dataclass(slots=True, kw_only=True)
class ApprovalResolved(Event):
    """An approval was decided, or expired (`decided_by` is then `expiry`).

    `arguments` are those with which the call runs, if the person edited them; null otherwise.
    """

    audience = "operators"
    is_approval = True
    unique_by = ("approval_id",)

    approval_id: Plain
    decision: Plain
    decided_by: Plain = ""
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
