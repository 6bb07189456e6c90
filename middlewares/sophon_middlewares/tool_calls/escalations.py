"""Decisions about single calls: what a person must approve because a guard says so, and how people settled a call."""

from typing import Any, TypeVar

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import Escalation
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall

__all__ = ["Escalation", "escalate", "find_escalation"]

T = TypeVar("T")


def get_round_values(ctx: Context, key: Key[dict[str, T]]) -> dict[str, T]:
    """Return the values of a key by call id, none at first, without those of calls that are not of the last reply: the
    state of a long turn would grow with them.
    """
    values = ctx.get(key)
    if values is None:
        values = dict[str, T]()
        ctx.put(key, values)
    elif values and ctx.messages and (calls := ctx.messages[-1].tool_calls):
        for call_id in values.keys() - {call.id for call in calls}:
            del values[call_id]
    return values


def _load(data: Any) -> dict[str, Escalation]:
    return {call_id: Escalation.from_json(each) for call_id, each in data.items()}


def _dump(escalations: dict[str, Escalation]) -> Any:
    return {call_id: each.to_json() for call_id, each in escalations.items()}


_ESCALATIONS: Key[dict[str, Escalation]] = Key("approval.escalations", dump=_dump, load=_load)


def escalate(ctx: Context, call: ToolCall, escalation: Escalation) -> None:
    """Require a person's approval of the call, who reads the reasons of all guards that ask; a resumed turn repeats
    its own.
    """
    escalations = get_round_values(ctx, _ESCALATIONS)
    earlier = escalations.setdefault(call.id, escalation)
    if earlier.guard != escalation.guard and str(escalation) not in earlier.reason:
        escalations[call.id] = Escalation(earlier.guard, earlier.rule, f"{earlier.reason}. {escalation}")


def find_escalation(ctx: Context, call: ToolCall) -> Escalation | None:
    """Return why a person must approve the call, or None."""
    escalations = ctx.get(_ESCALATIONS)
    return None if escalations is None else escalations.get(call.id)


@dataclass(frozen=True, slots=True)
class PersonDecision:
    """A decision by its rule (`rejected`, `answered`) and who made it."""

    rule: str
    decided_by: str


_DECISIONS: Key[dict[str, PersonDecision]] = Key("approval.settled")


def note_person_decision(ctx: Context, call: ToolCall, rule: str, decided_by: str) -> None:
    """Note that a person has settled a call, if it is known who."""
    if not decided_by:
        return
    noted = ctx.get(_DECISIONS)
    if noted is None:
        noted = dict[str, PersonDecision]()
        ctx.put(_DECISIONS, noted)
    noted[call.id] = PersonDecision(rule, decided_by)


def take_person_decision(ctx: Context, call_id: str) -> PersonDecision | None:
    """Return the decision that settled a call, once; None without one."""
    noted = ctx.get(_DECISIONS)
    return noted.pop(call_id, None) if noted is not None else None
