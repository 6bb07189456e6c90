"""The trace of one turn, as it is stored, shown and exported.

Times are milliseconds since the turn started, with fractions; texts are redacted and cut. No prompt, answer or tool
result is part of a trace.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.messages import NO_USAGE, Usage

TraceStatus: TypeAlias = Literal["running", "suspended", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class StageTime:
    """Time of a middleware: of all its calls, with (`total_ms`) and without (`own_ms`) the middlewares inside it.

    `outcome` of the last call: `passed` (it called the next one), `ended` (it did not), `cancelled`, or an error code.
    Plan steps and sub-agents (depth 1 and more) run the chain again, beside each other.
    """

    name: str
    zone: str = ""
    depth: int = 0
    calls: int = 0
    start_ms: float = 0.0
    total_ms: float = 0.0
    own_ms: float = 0.0
    outcome: str = "passed"


@dataclass(frozen=True, slots=True)
class AttemptTrace:
    """One attempt of a model call. `key` is the number of the API key, from 0; `first_token_ms` is from its start."""

    model: str
    purpose: str
    outcome: str
    start_ms: float
    duration_ms: int
    usage: Usage = NO_USAGE
    key: int | None = None
    first_token_ms: int | None = None
    detail: str = ""
    span_id: str = ""
    step: str = ""

    @property
    def provider(self) -> str:
        """Id of the provider."""
        return self.model.partition("/")[0]


@dataclass(frozen=True, slots=True)
class VerdictTrace:
    """Verdict of a guard on a tool call."""

    guard: str
    verdict: str
    rule: str = ""
    tier: int = 0


@dataclass(frozen=True, slots=True)
class ToolTrace:
    """One tool call; `arguments` is a summary. `result_characters` is the length of what the model read."""

    call_id: str
    tool: str
    outcome: str
    start_ms: float
    duration_ms: int = 0
    arguments: str = ""
    arguments_digest: str = ""
    result_characters: int = 0
    risk: str = ""
    verdicts: tuple[VerdictTrace, ...] = ()
    step: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalTrace:
    """A question to a person; `decided_ms` is None while nobody has decided."""

    approval_id: str
    kind: str
    tool: str
    risk: str
    start_ms: float
    decided_ms: float | None = None
    decision: str = ""
    decided_by: str = ""


@dataclass(frozen=True, slots=True)
class StepTrace:
    """A step of a plan."""

    id: str
    status: str
    start_ms: float
    duration_ms: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AgentTrace:
    """A sub-agent. The parts of the trace that are its own have its `id` as their `step`.

    `step` and `call_id` name the call of `agents.run` that it belongs to; `step` is empty for one of the turn itself.
    """

    id: str
    agent: str
    state: str
    start_ms: float
    duration_ms: float = 0.0
    reason: str = ""
    call_id: str = ""
    step: str = ""


@dataclass(frozen=True, slots=True)
class PromptPart:
    """What was added to the prompts of the turn: memory or a skill, with its length in tokens."""

    kind: str
    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class NoteTrace:
    """Something that was decided or happened: route, decision, compaction, fall-back, budget; `kind` is its event."""

    kind: str
    start_ms: float
    data: Mapping[str, Any] = field(default_factory=new_dict)
    step: str = ""


@dataclass(frozen=True, slots=True)
class StartTrace:
    """One start of the turn, until it ended, waited for a person (`suspended`) or its process did (`interrupted`)."""

    start_ms: float
    end_ms: float
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Trace of one turn.

    `queued_ms` passed before it started; `working_ms` and `waiting_ms` (for people, or for the next start) since then.
    `usage` is that of all attempts. `parent_span_id` is the span of the sender, `left_out` the number of entries above
    the bound.
    """

    run_id: str
    session_id: str
    principal: str
    channel: str
    started_at: datetime
    ended_at: datetime
    status: TraceStatus
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    parent_run_id: str = ""
    finish_reason: str = ""
    error: Mapping[str, str] = field(default_factory=new_dict)
    queued_ms: int = 0
    working_ms: int = 0
    waiting_ms: int = 0
    usage: Usage = NO_USAGE
    iterations: int = 0
    starts: tuple[StartTrace, ...] = ()
    stages: tuple[StageTime, ...] = ()
    attempts: tuple[AttemptTrace, ...] = ()
    tools: tuple[ToolTrace, ...] = ()
    approvals: tuple[ApprovalTrace, ...] = ()
    steps: tuple[StepTrace, ...] = ()
    agents: tuple[AgentTrace, ...] = ()
    prompt: tuple[PromptPart, ...] = ()
    notes: tuple[NoteTrace, ...] = ()
    left_out: int = 0

    @property
    def model(self) -> str:
        """Model that answered last; empty if none did."""
        return next((each.model for each in reversed(self.attempts) if each.outcome == "ok"), "")

    @property
    def fallback_attempts(self) -> int:
        """Number of failed attempts of model calls."""
        return sum(each.outcome not in ("ok", "cancelled") for each in self.attempts)
