"""Decisions of people that settle a call without running it (rejections, answers), for the audit log."""

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall


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
