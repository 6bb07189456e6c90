"""Events of a running turn: one dataclass per event, its fields named as in the wire format.

`emit` sets `session_id`, `task_id` (the whole turn), `run_id` (the turn, or the plan step inside it) and, for a
durable event of a host, `seq`. Durable events can be replayed; transient events are lost without a listener, except
that a host stores traces apart, soon after they were emitted. Secrets in the text of an error are replaced when its
event is made.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import cache
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from sophon.lazy_dataclass import dataclass
from sophon.messages import FinishReason, Role, ToolCallOutcome, Usage
from sophon.security import redact, redact_message

AgentActivity: TypeAlias = Literal["thinking", "planning", "calling_tool", "waiting_approval", "compacting", "retrying"]
GuardDecision: TypeAlias = Literal["allow", "block", "escalate"]
AgentState: TypeAlias = Literal["spawning", "working", "completed", "failed", "timed_out", "cancelled"]
"""State of a sub-agent; all but the first two are final."""
Stage: TypeAlias = Literal[
    "classifier",
    "assembler",
    "transport",
    "scorer",
    "learner",
    "auth_resolve",
    "history_sanitize",
    "context_guard",
    "tool_split",
    "execute",
    "failover_decide",
    "context_builder",
    "llm_loop",
    "url_outcomes",
    "validator",
    "announcer",
]
StepStatus: TypeAlias = Literal["pending", "running", "completed", "failed", "skipped", "cancelled"]


@dataclass(slots=True, kw_only=True)
class Event:
    """Base class: the ids of session, task and run, and the sequence number within the session."""

    durable: ClassVar[bool] = True
    is_trace: ClassVar[bool] = False
    wire_name: ClassVar[str] = "event"

    session_id: str = ""
    task_id: str = ""
    run_id: str = ""
    seq: int | None = None

    def __init_subclass__(cls) -> None:
        if "wire_name" not in vars(cls):
            cls.wire_name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON-serialisable payload; `seq` is omitted when it is None."""
        data: dict[str, Any] = {}
        for name in _field_names(type(self)):  # type: ignore[arg-type] # mypy takes the class for one of its instances
            value = getattr(self, name)
            data[name] = value if type(value) in _SCALAR_TYPES else _to_jsonable(value)
        if self.seq is None:
            del data["seq"]
        return data


class EventSink(Protocol):
    """Protocol for event listeners. `emit` must not block; an exception is logged and the turn continues."""

    def emit(self, event: Event, /) -> None:
        """Receive one event; the events of one turn arrive in order."""
        ...


Emit: TypeAlias = Callable[[Event], None]


class NullEventSink:
    """Event sink that discards every event: the default without listeners."""

    def emit(self, event: Event, /) -> None:
        """Discard the event."""


@dataclass(slots=True, kw_only=True)
class TaskQueued(Event):
    """The message `text` was queued; `position` tasks are ahead of it."""

    position: int = 0
    text: str = ""


@dataclass(slots=True, kw_only=True)
class TaskStarted(Event):
    """The turn started; `started_at` is ISO 8601 in UTC."""

    started_at: str = ""


@dataclass(slots=True, kw_only=True)
class AgentStatus(Event):
    """The current activity of the agent; `detail` is text for a person."""

    durable: ClassVar[bool] = False

    status: AgentActivity
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class StreamChunk(Event):
    """A piece of the streamed reply; the concatenated pieces of one epoch are its text.

    `offset` is the position of the piece in that text, in characters; set by the host.
    """

    durable: ClassVar[bool] = False

    epoch: int
    text: str
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class StreamReset(Event):
    """The streamed reply restarts: text of earlier epochs must be discarded."""

    durable: ClassVar[bool] = False

    epoch: int
    reason: str


@dataclass(slots=True, kw_only=True)
class StreamCompleted(Event):
    """The last chunk of the streamed reply was sent; `length` is that of the epoch's text, in characters."""

    durable: ClassVar[bool] = False

    epoch: int
    length: int


@dataclass(slots=True, kw_only=True)
class ReasoningChunk(Event):
    """A piece of the model's reasoning, which is no part of the reply; a piece with `offset` 0 begins it anew.

    `offset` is the position of the piece in the reasoning `reasoning_id`, in characters.
    """

    durable: ClassVar[bool] = False

    reasoning_id: str
    text: str
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class Reasoning(Event):
    """The model's reasoning about one reply, complete; replaces the chunks with the same `reasoning_id`.

    A reply that is made again has the same id. A long text is cut.
    """

    reasoning_id: str
    model: str
    text: str


@dataclass(slots=True, kw_only=True)
class ToolCallStarted(Event):
    """A tool call started to run."""

    call_id: str
    tool: str
    arguments_digest: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: {})


@dataclass(slots=True, kw_only=True)
class SkillsOffered(Event):
    """The skills whose names and descriptions stand in the prompts of the turn; `left_out` did not fit.

    `tokens` is the length of the list.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    names: list[str]
    tokens: int
    left_out: list[str] = field(default_factory=list[str])


@dataclass(slots=True, kw_only=True)
class ToolsOffered(Event):
    """The tools that a model is offered, once for each change of them in the turn.

    `tokens` is the length of their definitions, `by_group` the same by group: `mcp:ID` is an MCP server, "" are the
    tools of no group.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    names: list[str]
    tokens: int
    by_group: Mapping[str, int]


@dataclass(slots=True, kw_only=True)
class McpRequested(Event):
    """A request to an MCP server ended: `tool` is the name at the server, `protocol` the version that was spoken.

    `questions` is how many questions it had for a person, `error` why it failed, "" if it did not.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    server: str
    tool: str
    protocol: str
    duration_ms: int
    questions: int = 0
    error: str = ""


@dataclass(slots=True, kw_only=True)
class SkillLoaded(Event):
    """The instructions of a skill were read in the turn; `tokens` is their length."""

    name: str
    tokens: int


@dataclass(slots=True, kw_only=True)
class AgentSelected(Event):
    """A message went to an agent: by its name in the message, by chat, by content or by channel (`rule`)."""

    agent: str
    rule: str


@dataclass(slots=True, kw_only=True)
class SubAgentChanged(Event):
    """A sub-agent is in a state; `parent_id` is the run id of the turn that runs it, `depth` how deep it is.

    `call_id` is the call of `agents.run` there, `task` the beginning of its task. `detail` says why it failed, or that
    it waits for a person.
    """

    agent_id: str
    agent: str
    state: AgentState
    parent_id: str = ""
    depth: int = 1
    task: str = ""
    detail: str = ""
    call_id: str = ""


@dataclass(slots=True, kw_only=True)
class CustomToolChanged(Event):
    """A custom tool was `created`, `updated`, `enabled`, `disabled`, `shared`, `unshared` or `deleted` (`change`).

    In a turn it is of its session; over HTTP and by the command line of none, for operators. `by` is who did it.
    """

    durable: ClassVar[bool] = False

    tool: str
    change: str
    by: str = ""


@dataclass(slots=True, kw_only=True)
class MemoryRecalled(Event):
    """What the memory puts into the prompts of the turn: entries, workspace files, and their length in tokens.

    `parts` has the tokens by file name, of the `entries`, and of the `daily_log`; less for a model with a small window.
    """

    entry_ids: list[str]
    files: list[str]
    tokens: int
    parts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True, kw_only=True)
class MemoryLearned(Event):
    """Facts that the user stated were stored as memory entries; deleting these entries undoes it."""

    entry_ids: list[str]
    texts: list[str]


@dataclass(slots=True, kw_only=True)
class MemoryFlush(Event):
    """Durable facts were stored as memory entries before the messages that hold them were compacted."""

    entry_ids: list[str]
    texts: list[str]
    messages: int


@dataclass(slots=True, kw_only=True)
class ToolCallCompleted(Event):
    """A tool call ended with exactly one outcome; a call that was denied before it ran has no ToolCallStarted.

    `interrupted`: the host was killed while the call ran, so whether it took effect is unknown. `result` is the text
    that the model reads, without the fence around untrusted text.
    """

    call_id: str
    tool: str
    outcome: ToolCallOutcome
    duration_ms: int = 0
    result: str = ""

    def __post_init__(self) -> None:
        if self.outcome != "completed":
            self.result = redact(self.result)


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
class PlanProposed(Event):
    """A plan was created: `{id, goal, steps: [...]}`."""

    plan: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class PlanStepChanged(Event):
    """A plan step changed its status; `reason` says why it failed or was skipped."""

    step_id: str
    status: StepStatus
    reason: str = ""

    def __post_init__(self) -> None:
        self.reason = redact(self.reason)


@dataclass(slots=True, kw_only=True)
class Progress(Event):
    """Progress report, emitted every 10 rounds of tool calls."""

    iteration: int
    tool_calls: int
    usage: Usage


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


@dataclass(slots=True, kw_only=True)
class Message(Event):
    """A message was added to the conversation.

    A text before tool calls is sent when the calls begin; a later one with the same `message_id` replaces it, if the
    reply was made again. The last message is the text of the last reply. `origin` is `schedule` for a message that a
    schedule has sent, and missing for others.
    """

    message_id: str
    role: Role
    content: str
    origin: str = ""

    def to_wire(self) -> dict[str, Any]:
        """Return the payload, without an empty `origin`."""
        # Not super(): a class with slots is made anew, and the method would refer to the first one.
        data = Event.to_wire(self)
        if not self.origin:
            del data["origin"]
        return data


@dataclass(slots=True, kw_only=True)
class BudgetAlert(Event):
    """Budget use reached a `share` of a limit; `used` and `limit` are in the unit of the setting `name`.

    The limit is that of a provider or, with a `principal`, of a person, or with a `task_type` of that. `refused`: a
    call was refused because the rest
    of the limit is too small for it; `share` is then 1.0. Emitted once per limit, share and day or month.
    """

    provider: str
    name: str
    limit: float
    used: float
    share: float
    refused: bool = False
    principal: str = ""
    task_type: str = ""


@dataclass(slots=True, kw_only=True)
class ProviderExcluded(Event):
    """The turn does not use a provider, or no longer, because of a budget; `limit` is the name of the setting.

    `until` is ISO 8601 in UTC, the time at which the limit resets; None if it does not.
    """

    provider: str
    limit: str
    reason: str
    until: str | None = None


@dataclass(slots=True, kw_only=True)
class RouteChosen(Event):
    """Routing chose the models of a turn; `model` is the first one, empty if a booster answered without any.

    `flags`: `escalated`, `budget`, `constrained`, `unsure`, `policy`, `demoted`. For the strategy Priority only
    the chain clawft sends it.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    model: str
    strategy: str
    reason: str
    tier: str = ""
    task_type: str = ""
    complexity: float = 0.0
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.reason = redact(self.reason)


@dataclass(slots=True, kw_only=True)
class StageCompleted(Event):
    """A stage of a chain has done its part of a model call, the first one being 1.

    `stage`: of classification and learning `classifier`, `assembler`, `transport`, `scorer`, `learner` (that of the
    router is `route_chosen`); of a reply `url_outcomes`, `validator`, `announcer`; the others are published stages of
    the chains clawdesk and wasp. `data` holds names and numbers, no text of the conversation.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    stage: Stage
    model_call: int = 1
    data: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class DecisionMade(Event):
    """Rules decided what kind of work a message is, before a model was asked.

    `strategy`: `direct`, `goal`, `scheduled_task`, `sub_agent` or `script`; `hits`: matching patterns by family.
    `fast_path`: the tool whose result answers the message, empty if none does. `low_intent`: the message says too
    little, and was answered with a question.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True
    wire_name: ClassVar[str] = "decision"

    strategy: str
    fast_path: str = ""
    low_intent: bool = False
    hits: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True, kw_only=True)
class ModelAttempt(Event):
    """One attempt of the gateway at one model; `outcome` is `ok` or the error code.

    `key` is the number of the API key, from 0; null without one. `first_token_ms`: from its start to the first text of
    a streamed reply. `span_id` is what the provider was told as its caller, if the trace is passed on.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    purpose: str
    model: str
    outcome: str
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    detail: str = ""
    key: int | None = None
    first_token_ms: int | None = None
    span_id: str = ""

    def __post_init__(self) -> None:
        self.detail = redact(self.detail)


@dataclass(slots=True, kw_only=True)
class ModelFallback(Event):
    """States of a model call that needed more than its first attempt, in order; none repeats without a transition.

    They end with `succeeded`, `exhausted` (no candidate is left) or `aborted`; there are at most `max_transitions`
    after the first.
    """

    durable: ClassVar[bool] = False
    is_trace: ClassVar[bool] = True

    purpose: str
    states: tuple[str, ...]
    max_transitions: int


@dataclass(slots=True, kw_only=True)
class ContextCompacted(Event):
    """Messages were compacted in the model's context; `how` is `summary`, `truncation` or `results` (large tool results
    were cut, because the provider rejected the request as too large).
    """

    how: Literal["summary", "truncation", "results"]
    messages: int
    tokens_before: int
    tokens_after: int


@dataclass(slots=True, kw_only=True)
class LoopWarning(Event):
    """The loop detector found a repetition; `level` is `warning`, `critical` or `breaker`."""

    level: str
    pattern: str
    tool: str
    count: int
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class AnswerUndelivered(Event):
    """The task's answer was not delivered to its chat; the outcome of the task stays what it is.

    `reason`: `expired` (refused for a day), `ambiguous` (sent three times without a definite answer), `chat_gone`,
    `recipient_changed` (the chat is another person's now) or `rejected` by the platform. `parts` is the number of
    messages that were given up; `may_have_arrived`: at least one was sent without a definite answer.
    """

    channel: str
    reason: Literal["expired", "ambiguous", "chat_gone", "recipient_changed", "rejected"]
    parts: int
    may_have_arrived: bool
    detail: str = ""

    def __post_init__(self) -> None:
        self.detail = redact(self.detail)


@dataclass(slots=True, kw_only=True)
class SessionTitled(Event):
    """The session received a title, from a model or taken from the user's text."""

    title: str


@dataclass(slots=True, kw_only=True)
class FeedbackRecorded(Event):
    """A person said what they think of the answer of a task: `value` is -1 (bad) to 1 (good), 0 if they took it back.

    `source` is where they said it: `page`, `api`, or the name of a channel.
    """

    value: float
    source: str


@dataclass(slots=True, kw_only=True)
class GoalChanged(Event):
    """A goal has another state, for a reason, or a step of its plan another status. `progress` is in percent."""

    goal_id: str
    state: str
    reason: str = ""
    title: str = ""
    progress: int = 0
    step: str = ""
    step_status: str = ""


@dataclass(slots=True, kw_only=True)
class SessionDeleted(Event):
    """The session was deleted: every subscription to it has ended, and a session of that id is a new one."""

    durable: ClassVar[bool] = False


@dataclass(slots=True, kw_only=True)
class McpServerChanged(Event):
    """The state or the tools of an MCP server have changed; of no session, for operators.

    `state` is `starting`, `ready`, `failed` or `disabled`, `error` the last failure. `tools` are offered, and `changed`
    are not, because nobody has accepted their new definition.
    """

    durable: ClassVar[bool] = False

    server: str
    state: str
    error: str = ""
    tools: int = 0
    changed: int = 0

    def __post_init__(self) -> None:
        self.error = redact(self.error)


@dataclass(slots=True, kw_only=True)
class ScheduleFired(Event):
    """A time of a schedule has come; `outcome` says what became of it.

    `fired`: it runs as task `task_id`. `missed`: the host was down, and the misfire policy drops it; `count` is how
    many such times. `skipped`: quiet hours. `postponed`: until quiet hours end. `delayed`: there is no room for a run;
    it is tried again. `refused`: it cannot run, and the schedule is paused.
    """

    schedule_id: str
    title: str
    due_at: str
    outcome: Literal["fired", "missed", "skipped", "postponed", "delayed", "refused"]
    reason: str = ""
    count: int = 1


@dataclass(slots=True, kw_only=True)
class ScheduleChanged(Event):
    """A schedule of the session was added, changed, paused, resumed, removed or finished (`change`)."""

    schedule_id: str
    change: str
    title: str = ""
    reason: str = ""
    next_at: str | None = None


@dataclass(slots=True, kw_only=True)
class TaskCompleted(Event):
    """Final event: the turn ended with a response, which may be a refusal.

    `tool_rounds`: rounds of tool calls; `fallback_attempts`: attempts beyond the first of each model call.
    """

    text: str
    finish_reason: FinishReason
    usage: Usage
    duration_ms: int
    tool_rounds: int = 0
    fallback_attempts: int = 0


@dataclass(slots=True, kw_only=True)
class TaskFailed(Event):
    """Final event: the turn failed with `error` `{code, message, id}`; the id is also in the log.

    `text` is the part of the reply that had been streamed.
    """

    error: Mapping[str, Any]
    text: str = ""
    finish_reason: FinishReason = "error"
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0

    def __post_init__(self) -> None:
        self.error = redact_message(self.error)


@dataclass(slots=True, kw_only=True)
class TaskCancelled(Event):
    """Final event: the turn was cancelled. `text` is the part of the reply that had been streamed."""

    text: str = ""
    finish_reason: FinishReason = "cancelled"
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0


_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


@cache
def _field_names(event: type[Event]) -> tuple[str, ...]:
    # Cached per class: every event of a host goes through `to_wire`.
    return tuple(field.name for field in fields(event))


def _to_jsonable(value: Any) -> Any:
    if isinstance(value, Usage):
        return value.to_json()
    return dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON data


def event_from_wire(name: str, data: Mapping[str, Any]) -> Event | None:
    """Parse the event `name` with payload `data`, as a client receives it; None for an unknown event name.

    Unknown fields are ignored. Raises TypeError for a payload with a missing field.
    """
    event_type = event_types().get(name)
    if event_type is None:
        return None
    known = {field.name for field in fields(event_type)}
    given = {key: value for key, value in data.items() if key in known}
    if isinstance(given.get("usage"), Mapping):
        given["usage"] = Usage.from_json(given["usage"])
    return event_type(**given)


@cache
def event_types() -> Mapping[str, type[Event]]:
    """Return the event classes by wire name."""
    return {each.wire_name: each for each in Event.__subclasses__()}
