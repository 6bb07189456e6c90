"""Results of traces: how turns went, in numbers, and the comparison of a turn with its replay.

Times are milliseconds since the start of the turn, with fractions; durations have none, except of stages.
"""

from typing import Any, NotRequired, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.traces.serialization import trace_summary_to_json as _summary_to_json
from sophon.traces.serialization import trace_to_json as _trace_to_json
from sophon.traces.trace import Trace, TraceStatus
from sophon_hosting.features.usage.results import UsageView


class TraceError(TypedDict):
    """Why a turn failed."""

    code: NotRequired[str]
    message: NotRequired[str]
    id: NotRequired[str]


class TraceFacts(TypedDict):
    """How a turn went as a whole; `left_out` counts the entries above the bound of a trace."""

    run_id: str
    session_id: str
    principal: str
    channel: str
    started_at: str
    ended_at: str
    status: TraceStatus
    trace_id: str
    span_id: str
    parent_span_id: str
    parent_run_id: str
    finish_reason: str
    error: TraceError
    queued_ms: int
    working_ms: int
    waiting_ms: int
    usage: UsageView
    iterations: int
    left_out: int
    model: str
    fallback_attempts: int


class TraceSummary(TraceFacts):
    """A trace of a list: the numbers of its parts instead of the parts."""

    attempts_count: int
    tools_count: int
    approvals_count: int
    steps_count: int


class TraceList(TypedDict):
    """Traces, the newest first."""

    items: list[TraceSummary]


class TraceStart(TypedDict):
    """One start of a turn, until it ended, waited for a person or its process ended."""

    start_ms: float
    end_ms: float
    end: str


class TraceStage(TypedDict):
    """Time of a middleware: of all its calls, with and without the middlewares inside it."""

    name: str
    zone: str
    depth: int
    calls: int
    start_ms: float
    total_ms: float
    own_ms: float
    outcome: str


class TraceAttempt(TypedDict):
    """One attempt of a model call; `key` is the number of the API key, from 0."""

    model: str
    purpose: str
    outcome: str
    start_ms: float
    duration_ms: int
    usage: UsageView
    key: int | None
    first_token_ms: int | None
    detail: str
    span_id: str
    step: str


class TraceVerdict(TypedDict):
    """Verdict of a guard on a tool call."""

    guard: str
    verdict: str
    rule: str
    tier: int


class TraceTool(TypedDict):
    """One tool call; `arguments` is a summary of them."""

    call_id: str
    tool: str
    outcome: str
    start_ms: float
    duration_ms: int
    arguments: str
    arguments_digest: str
    result_characters: int
    risk: str
    verdicts: list[TraceVerdict]
    step: str


class TraceApproval(TypedDict):
    """A question to a person; `decided_ms` is null while nobody has decided."""

    approval_id: str
    kind: str
    tool: str
    risk: str
    start_ms: float
    decided_ms: float | None
    decision: str
    decided_by: str


class TraceStep(TypedDict):
    """A step of a plan."""

    id: str
    status: str
    start_ms: float
    duration_ms: float
    reason: str


class TraceAgent(TypedDict):
    """A sub-agent; the parts of the trace that are its own have its `id` as their `step`."""

    id: str
    agent: str
    state: str
    start_ms: float
    duration_ms: float
    reason: str
    call_id: str
    step: str


class TracePrompt(TypedDict):
    """What was added to the prompts of a turn, with its length in tokens."""

    kind: str
    name: str
    tokens: int


class TraceNote(TypedDict):
    """Something that was decided or happened; `kind` is its event, `data` what that says."""

    kind: str
    start_ms: float
    data: dict[str, Any]
    step: str


class TraceDetails(TraceFacts):
    """A trace with its parts."""

    starts: list[TraceStart]
    stages: list[TraceStage]
    attempts: list[TraceAttempt]
    tools: list[TraceTool]
    approvals: list[TraceApproval]
    steps: list[TraceStep]
    agents: list[TraceAgent]
    prompt: list[TracePrompt]
    notes: list[TraceNote]


class OtlpTrace(TypedDict):
    """A trace for other trace viewers: the JSON body of an `ExportTraceServiceRequest` of OTLP."""

    resourceSpans: list[dict[str, Any]]  # noqa: N815 - as OTLP names it


class ReplayChoices(TypedDict):
    """The models and chains that a replay of the user may ask."""

    models: list[str]
    chains: list[str]


class ReplaySide(TypedDict):
    """A turn, or its replay; nulls and empty lists for a turn whose trace is gone."""

    answer: str
    chain: str | None
    model: str | None
    usage: UsageView | None
    working_ms: int | None
    status: TraceStatus | None
    finish_reason: str | None
    error: TraceError | None
    tools: list[TraceTool]
    routes: list[TraceNote]
    trace: TraceDetails | None


class Replay(ReplaySide):
    """How a replay went: about which tools a person would be asked, and how many calls had a recorded result."""

    asked: list[str]
    reused: int
    missing: int


class ReplayComparison(TypedDict):
    """A turn and its replay side by side; `charged` says in words what the replay cost and changed."""

    task_id: str
    message: str
    original: ReplaySide
    replay: Replay
    charged: str


def trace_to_json(trace: Trace) -> TraceDetails:
    """Return a whole trace as JSON."""
    return cast(TraceDetails, _trace_to_json(trace))


def trace_summary_to_json(trace: Trace) -> TraceSummary:
    """Return what a list shows of a trace as JSON."""
    return cast(TraceSummary, _summary_to_json(trace))
