"""Events of a turn: its beginning, activity, messages and end."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.events.payload_objects import AttachmentDetail, ErrorDetail
from sophon.events.visibility import Plain, Text, Visibility
from sophon.messages import FinishReason, Role, Usage
from sophon.redaction_hook import redact_message

AgentActivity: TypeAlias = Literal["thinking", "planning", "calling_tool", "waiting_approval", "compacting", "retrying"]


@dataclass(slots=True, kw_only=True)
class TaskQueued(Event):
    """The message `text` was queued; `position` tasks are ahead of it. `attachments` are its files, and missing without
    any.
    """

    in_trace = False
    audience = "operators"
    is_first = True
    unique_by = ()
    omitted_if_empty = ("attachments",)

    position: int = 0
    text: Text = ""
    attachments: Annotated[Sequence[Mapping[str, Any]], Visibility.OWNED, AttachmentDetail] = ()


@dataclass(slots=True, kw_only=True)
class TaskStarted(Event):
    """The turn started, told by the worker that has begun it; `started_at` is ISO 8601 in UTC."""

    in_trace = False
    audience = "operators"
    is_first = True
    unique_by = ()

    started_at: Plain = ""


@dataclass(slots=True, kw_only=True)
class AgentStatus(Event):
    """The current activity of the agent; `detail` is text for a person."""

    durable = False
    in_trace = False
    is_live = True

    status: AgentActivity
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class Message(Event):
    """A message was added to the conversation.

    A text before tool calls is sent when the calls begin; a later one with the same `message_id` replaces it, if the
    reply was made again. The last message is the text of the last reply. `origin` is `schedule` for a message that a
    schedule has sent, and missing for others.
    """

    in_trace = False
    unique_by = ("role", "message_id")
    omitted_if_empty = ("origin",)

    message_id: Plain
    role: Role
    content: Text
    origin: Plain = ""


@dataclass(slots=True, kw_only=True)
class Progress(Event):
    """Progress report, emitted every 10 rounds of tool calls."""

    in_trace = False

    iteration: int
    tool_calls: int
    usage: Usage


@dataclass(slots=True, kw_only=True)
class LoopWarning(Event):
    """The loop detector found a repetition; `level` is `warning`, `critical` or `breaker`."""

    level: Plain
    pattern: Plain
    tool: Plain
    count: int
    detail: str = ""


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
class TaskCompleted(Event):
    """Final event: the turn ended with a response, which may be a refusal.

    `tool_rounds`: rounds of tool calls; `fallback_attempts`: attempts beyond the first of each model call; `model`: the
    one that wrote the last reply, as `provider/model`, empty if none did.
    """

    in_trace = False
    audience = "operators"
    is_final = True

    text: Text
    finish_reason: FinishReason
    usage: Usage
    duration_ms: int
    tool_rounds: int = 0
    fallback_attempts: int = 0
    model: Plain = ""


@dataclass(slots=True, kw_only=True)
class TaskFailed(Event):
    """Final event: the turn failed with `error` `{code, message, id}`; the id is also in the log.

    `text` is the part of the reply that had been streamed.
    """

    in_trace = False
    audience = "operators"
    is_final = True

    error: Annotated[Mapping[str, Any], ErrorDetail]
    text: Text = ""
    finish_reason: FinishReason = "error"
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0

    def __post_init__(self) -> None:
        self.error = redact_message(self.error)


@dataclass(slots=True, kw_only=True)
class TaskCancelled(Event):
    """Final event: the turn was cancelled. `text` is the part of the reply that had been streamed."""

    in_trace = False
    audience = "operators"
    is_final = True

    text: Text = ""
    finish_reason: FinishReason = "cancelled"
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0
