"""Information flow control: which data may reach which sink, by the sensitivity label of the data.

Labels, sinks and matrix are those of OpenParallax (information flow).
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final, Literal, TypeAlias, get_args

from sophon._python.lazy_dataclass import dataclass
from sophon.security.information_flow.taint import Taint

Sink: TypeAlias = Literal["external", "exec", "memory", "workspace_write", "workspace_read"]
"""Destination of data: outside the host, a command, long-term memory, or a file of the workspace."""

FlowDecision: TypeAlias = Literal["allow", "block", "escalate"]


class Label(IntEnum):
    """Sensitivity of data; a session has the highest label of the data that it has read."""

    PUBLIC = 0
    INTERNAL = 1
    CONFIDENTIAL = 2
    RESTRICTED = 3
    CRITICAL = 4


SINKS: Final = get_args(Sink)

_EXTERNAL_BLOCKED: Final[Mapping[str, FlowDecision]] = {**dict.fromkeys(SINKS, "allow"), "external": "block"}

_MATRIX: Final[Mapping[Label, Mapping[str, FlowDecision]]] = {
    Label.PUBLIC: dict.fromkeys(SINKS, "allow"),
    Label.INTERNAL: _EXTERNAL_BLOCKED,
    Label.CONFIDENTIAL: _EXTERNAL_BLOCKED,
    Label.RESTRICTED: {
        "external": "block",
        "exec": "escalate",
        "memory": "block",
        "workspace_write": "escalate",
        "workspace_read": "allow",
    },
    Label.CRITICAL: dict.fromkeys(SINKS, "block"),
}


def flow_decision(label: int, sink: str) -> FlowDecision:
    """Return whether data with this label may flow to the sink; an unknown label or sink is blocked."""
    if isinstance(label, bool) or label not in _MATRIX:
        return "block"
    return _MATRIX[Label(label)].get(sink, "block")


def decide_trifecta(*, reads_untrusted: bool, reads_private: bool, sink: str) -> FlowDecision:
    """Return whether a session may use the sink, by what it has read, whatever its label is.

    Untrusted content, private data and a way out in one session allow whoever wrote the content to take the data out
    (the "lethal trifecta"). With the first two present, external sinks are closed until a person opens them.
    """
    if sink not in SINKS:
        return "block"
    return "block" if reads_untrusted and reads_private and sink == "external" else "allow"


@dataclass(frozen=True, slots=True)
class FlowVerdict:
    """Decision about a flow, the rule that made it, and the reason as a sentence."""

    decision: FlowDecision
    rule: str
    reason: str


def judge_flow(taint: Taint, sinks: Iterable[str]) -> FlowVerdict | None:
    """Return the strictest verdict about data with this taint in any of the sinks; None if all are allowed.

    What the matrix blocks stays blocked. Sinks that only the trifecta closes escalate, so that a person can open them.
    """
    escalation: FlowVerdict | None = None
    for sink in sinks:
        decision = flow_decision(taint.label, sink)
        if decision != "allow":
            verdict = FlowVerdict(decision, f"{_label_name(taint.label)}_to_{sink}", _format_reason(taint.label, sink))
            if decision == "block":
                return verdict
            escalation = escalation or verdict
        if decide_trifecta(reads_untrusted=taint.is_untrusted, reads_private=taint.is_private, sink=sink) != "allow":
            escalation = escalation or FlowVerdict("escalate", "trifecta", _TRIFECTA_REASON)
    return escalation


_TRIFECTA_REASON: Final = (
    "it would send data out of the host, and the session has read private data and untrusted content, whose author "
    "may have asked for it"
)

_SINK_NAMES: Final[Mapping[str, str]] = {
    "external": "leave the host",
    "exec": "reach a command",
    "memory": "reach the long-term memory",
    "workspace_write": "be written to a file",
    "workspace_read": "be read",
}


def _label_name(label: int) -> str:
    return Label(label).name.lower() if label in _MATRIX else "unknown"


def _format_reason(label: int, sink: str) -> str:
    return f"{_label_name(label)} data that the session has read must not {_SINK_NAMES.get(sink, 'go there')}"
