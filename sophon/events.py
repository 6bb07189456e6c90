"""What can be seen of a turn while it runs: one class per event, with the fields it has on the wire.

`emit` fills in `session_id`, `task_id` (the whole turn), `run_id` (the turn, or the plan step inside it) and, for a
durable event of a host, `seq`. Durable events can be replayed; the others are gone when nobody listens.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from sophon.messages import FinishReason, Outcome, Role, Usage

Status: TypeAlias = Literal["thinking", "planning", "calling_tool", "waiting_approval", "compacting", "retrying"]
StepStatus: TypeAlias = Literal["pending", "running", "completed", "failed", "skipped", "cancelled"]


@dataclass(slots=True, kw_only=True)
class Event:
    """The base: whose event it is, and its place in the session."""

    durable: ClassVar[bool] = True
    wire_name: ClassVar[str] = "event"

    session_id: str = ""
    task_id: str = ""
    run_id: str = ""
    seq: int | None = None

    def __init_subclass__(cls) -> None:
        cls.wire_name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def to_wire(self) -> dict[str, Any]:
        """The payload as plain data, ready for JSON; `seq` only where there is one."""
        data: dict[str, Any] = {}
        for name in _names(type(self)):  # type: ignore[arg-type] # mypy takes the class for one of its instances
            value = getattr(self, name)
            data[name] = value if type(value) in _SIMPLE else _plain(value)
        if self.seq is None:
            del data["seq"]
        return data


class EventSink(Protocol):
    """Whoever listens. `emit` never waits; what it raises is logged and the turn goes on."""

    def emit(self, event: Event, /) -> None:
        """Take one event; events come in order within a turn."""
        ...


Emit: TypeAlias = Callable[[Event], None]


class Silence:
    """The sink of a chain that nobody watches."""

    def emit(self, event: Event, /) -> None:
        """Drop it."""


@dataclass(slots=True, kw_only=True)
class TaskQueued(Event):
    """The message `text` was accepted; `position` tasks are ahead of it."""

    position: int = 0
    text: str = ""


@dataclass(slots=True, kw_only=True)
class TaskStarted(Event):
    """The turn began; `started_at` is ISO 8601 in UTC."""

    started_at: str = ""


@dataclass(slots=True, kw_only=True)
class AgentStatus(Event):
    """What the agent is doing now; `detail` is for a person."""

    durable: ClassVar[bool] = False

    status: Status
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class StreamChunk(Event):
    """A piece of the reply; the pieces of one epoch make up the text.

    `offset` is where in that text it stands, in characters; a host sets it.
    """

    durable: ClassVar[bool] = False

    epoch: int
    text: str
    offset: int = 0


@dataclass(slots=True, kw_only=True)
class StreamReset(Event):
    """The reply begins anew: what was shown of earlier epochs no longer counts."""

    durable: ClassVar[bool] = False

    epoch: int
    reason: str


@dataclass(slots=True, kw_only=True)
class ToolCallStarted(Event):
    """A tool began to run."""

    call_id: str
    tool: str
    arguments_digest: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: {})


@dataclass(slots=True, kw_only=True)
class ToolCallCompleted(Event):
    """A tool call ended, in exactly one outcome; one that was refused before it ran has no ToolCallStarted."""

    call_id: str
    tool: str
    outcome: Outcome
    duration_ms: int = 0
    result: str = ""


@dataclass(slots=True, kw_only=True)
class PlanProposed(Event):
    """A plan was made: `{id, goal, steps: [...]}`."""

    plan: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class PlanStepChanged(Event):
    """A step of the plan is in a new state; `reason` says why it failed or was skipped."""

    step_id: str
    status: StepStatus
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Progress(Event):
    """A checkpoint every 10 rounds of tool calls."""

    iteration: int
    tool_calls: int
    usage: Usage


@dataclass(slots=True, kw_only=True)
class ApprovalRequested(Event):
    """A person is asked; the turn, or this call of it, waits."""

    approval_id: str
    kind: str
    tool: str
    risk: str
    arguments: Mapping[str, Any]
    preview: str
    editable: bool = False
    expires_at: str | None = None


@dataclass(slots=True, kw_only=True)
class ApprovalResolved(Event):
    """Somebody decided, or time did (`decided_by` is then `expiry`)."""

    approval_id: str
    decision: str
    decided_by: str = ""
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Message(Event):
    """A message was added to the conversation."""

    message_id: str
    role: Role
    content: str


@dataclass(slots=True, kw_only=True)
class BudgetAlert(Event):
    """A limit is near (`share` 0.8) or met (1.0); `used` and `limit` in the unit of the setting named in `name`."""

    provider: str
    name: str
    limit: float
    used: float
    share: float


@dataclass(slots=True, kw_only=True)
class ModelAttempt(Event):
    """One try of one model by the gateway; `outcome` is `ok` or the code of the error."""

    purpose: str
    model: str
    outcome: str
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class ContextCompacted(Event):
    """Older messages were replaced in the model's view; `how` is `summary` or `truncation`."""

    how: Literal["summary", "truncation"]
    messages: int
    tokens_before: int
    tokens_after: int


@dataclass(slots=True, kw_only=True)
class LoopWarning(Event):
    """The loop detector saw a pattern; `level` is `warning`, `critical` or `breaker`."""

    level: str
    pattern: str
    tool: str
    count: int
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class SessionTitled(Event):
    """The session has a title now, by a model or of the person's own words."""

    title: str


@dataclass(slots=True, kw_only=True)
class TaskCompleted(Event):
    """The turn has its one outcome and it is an answer, be it a refusal."""

    text: str
    finish_reason: FinishReason
    usage: Usage
    duration_ms: int


@dataclass(slots=True, kw_only=True)
class TaskFailed(Event):
    """The turn has its one outcome and it is an error: `{code, message, id}`; the id is in the log too.

    `text` is what had been shown of the reply.
    """

    error: Mapping[str, Any]
    text: str = ""
    finish_reason: FinishReason = "error"
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0


@dataclass(slots=True, kw_only=True)
class TaskCancelled(Event):
    """The turn has its one outcome: somebody stopped it. `text` is what had been shown of the reply."""

    text: str = ""
    finish_reason: FinishReason = "cancelled"
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0


_SIMPLE = frozenset({str, int, float, bool, type(None)})


@cache
def _names(event: type[Event]) -> tuple[str, ...]:
    """Read once per class: every event of a host goes through `to_wire`."""
    return tuple(field.name for field in fields(event))


def _plain(value: Any) -> Any:
    if isinstance(value, Usage):
        return value.to_json()
    return dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON data


def from_wire(name: str, data: Mapping[str, Any]) -> Event | None:
    """The event of a frame, as a client has it from a host; None for a name that this version does not know.

    Fields that it does not know are left out. Raises TypeError for a payload that lacks one.
    """
    made = _named().get(name)
    if made is None:
        return None
    known = {field.name for field in fields(made)}
    given = {key: value for key, value in data.items() if key in known}
    if isinstance(given.get("usage"), Mapping):
        given["usage"] = Usage.from_json(given["usage"])
    return made(**given)


@cache
def _named() -> Mapping[str, type[Event]]:
    return {each.wire_name: each for each in Event.__subclasses__()}
