"""Escalations: tool calls that a person must approve whatever their risk is, because a guard says so."""

from typing import Any

from sophon.approvals import Escalation
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon_middlewares.tool_calls.round_calls import forget_earlier_rounds

__all__ = ["Escalation", "escalate", "find_escalation"]


def _load(data: Any) -> dict[str, Escalation]:
    return {call_id: Escalation.from_json(each) for call_id, each in data.items()}


def _dump(escalations: dict[str, Escalation]) -> Any:
    return {call_id: each.to_json() for call_id, each in escalations.items()}


_ESCALATIONS: Key[dict[str, Escalation]] = Key("approval.escalations", dump=_dump, load=_load)


def escalate(ctx: Context, call: ToolCall, escalation: Escalation) -> None:
    """Require a person's approval of the call, who reads the reasons of all guards that ask; a resumed turn repeats
    its own.
    """
    escalations = ctx.get(_ESCALATIONS)
    if escalations is None:
        escalations = dict[str, Escalation]()
        ctx.put(_ESCALATIONS, escalations)
    forget_earlier_rounds(ctx, escalations)
    earlier = escalations.setdefault(call.id, escalation)
    if earlier.guard != escalation.guard and str(escalation) not in earlier.reason:
        escalations[call.id] = Escalation(earlier.guard, earlier.rule, f"{earlier.reason}. {escalation}")


def find_escalation(ctx: Context, call: ToolCall) -> Escalation | None:
    """Return why a person must approve the call, or None."""
    escalations = ctx.get(_ESCALATIONS)
    return None if escalations is None else escalations.get(call.id)
