"""Events of sessions, and of what happens to the answer of a task after its turn."""

from typing import Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.events.visibility import Plain, Text
from sophon.redaction_hook import redact


@dataclass(slots=True, kw_only=True)
class SessionChanged(Event):
    """Somebody renamed, pinned or archived the conversation; `title` is what is shown."""

    durable = False
    in_trace = False
    audience = "lists"

    title: Text
    pinned: bool
    archived: bool


@dataclass(slots=True, kw_only=True)
class SessionDeleted(Event):
    """The session was deleted: every subscription to it has ended, and a session of that id is a new one."""

    durable = False
    in_trace = False
    is_process_local = True


@dataclass(slots=True, kw_only=True)
class FeedbackRecorded(Event):
    """A person said what they think of the answer of a task: `value` is -1 (bad) to 1 (good), 0 if they took it back.

    `source` is where they said it: `page`, `api`, or the name of a channel.
    """

    in_trace = False

    value: float
    source: Plain


@dataclass(slots=True, kw_only=True)
class AnswerUndelivered(Event):
    """The task's answer was not delivered to its chat; the outcome of the task stays what it is.

    `reason`: `expired` (refused for a day), `ambiguous` (sent three times without a definite answer), `chat_gone`,
    `window_closed` (the platform takes the answer only after the person has written again, which brings it),
    `recipient_changed` (the chat is another person's now) or `rejected` by the platform. `parts` is the number of
    messages that were given up; `may_have_arrived`: at least one was sent without a definite answer.
    """

    in_trace = False

    channel: Plain
    reason: Literal["expired", "ambiguous", "chat_gone", "window_closed", "recipient_changed", "rejected"]
    parts: int
    may_have_arrived: bool
    detail: str = ""

    def __post_init__(self) -> None:
        self.detail = redact(self.detail)
