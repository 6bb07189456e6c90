"""Events of guards and approvals."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.security import redact

GuardDecision: TypeAlias = Literal["allow", "block", "escalate"]


@dataclass(slots=True, kw_only=True)
class GuardVerdict(Event):
    """A guard judged a tool call: `escalate` asks a person, or a higher `tier` of Shield; `rule` names what decided.

    `arguments` are those of a blocked call, for which there is no ToolCallStarted; empty for other verdicts.
    """

    call_id: str
    guard: str
    verdict: GuardDecision
    rule: str = ""
    tier: int = 0
    reason: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=lambda: {})

    def __post_init__(self) -> None:
        self.reason = redact(self.reason)


@dataclass(slots=True, kw_only=True)
class ApprovalRequested(Event):
    """An approval was requested; the turn, or this call of it, waits for the decision.

    `escalation` is `{guard, rule, reason}` if a guard asks, whatever the risk is; null otherwise.
    """

    approval_id: str
    kind: str
    tool: str
    risk: str
    arguments: Mapping[str, Any]
    preview: str
    editable: bool = False
    expires_at: str | None = None
    full_preview: str = ""
    needs_operator: bool = False
    call_id: str = ""
    escalation: Mapping[str, Any] | None = None
    grant_offer: str = ""


@dataclass(slots=True, kw_only=True)
class ApprovalResolved(Event):
    """An approval was decided, or expired (`decided_by` is then `expiry`).

    `arguments` are those with which the call runs, if the person edited them; null otherwise.
    """

    approval_id: str
    decision: str
    decided_by: str = ""
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
