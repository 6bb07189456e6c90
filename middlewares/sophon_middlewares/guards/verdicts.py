"""Verdicts of the guards on the pending calls, until the audit log has them."""

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.events import GuardDecision
from sophon.extensions import Key
from sophon.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a guard on a call: what it decided, by which rule, and why."""

    guard: str
    decision: GuardDecision
    rule: str
    reason: str = ""

    @property
    def identity(self) -> str:
        """Guard, decision and rule: a resumed turn is judged again, with the same verdict."""
        return f"{self.guard}/{self.decision}/{self.rule}"


_NOTED: Key[dict[str, list[Verdict]]] = Key("guards.verdicts")


def collect_verdicts(ctx: Context) -> None:
    """Have verdicts noted from now on; without an audit log nobody would take them."""
    if ctx.get(_NOTED) is None:
        ctx.put(_NOTED, {})


def note_verdict(ctx: Context, call: ToolCall, verdict: Verdict) -> None:
    """Note a verdict, if verdicts are collected."""
    noted = ctx.get(_NOTED)
    if noted is not None:
        noted.setdefault(call.id, []).append(verdict)


def take_verdicts(ctx: Context, call_id: str) -> list[Verdict]:
    """Return the verdicts on a call that were noted since the last time."""
    noted = ctx.get(_NOTED)
    return noted.pop(call_id, []) if noted is not None else []
