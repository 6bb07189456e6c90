"""What a client may ask, as it comes over the wire: checked strictly, every problem said at once."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from sophon.errors import InputError

DEEPEST = 32
"""Levels of lists and objects in the arguments of a tool call."""

MOST_PROBLEMS = 10
LONGEST_NAME = 60
"""Of what a client calls its fields, when it is told of them."""

R = TypeVar("R", bound="Request")


class Request(BaseModel):
    """The payload of an event: no other fields, no other types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)


class SendMessage(Request):
    """A message for the agent; into a new session if it names none."""

    content: str
    session_id: str | None = None
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None


class JoinSession(Request):
    """Hear a session, and what was missed of it after `last_seq`."""

    session_id: str
    last_seq: int | None = None


class LeaveSession(Request):
    """Hear it no more."""

    session_id: str


class CancelTask(Request):
    """Stop a task."""

    task_id: str


class DecideApproval(Request):
    """Answer a question of the host. `arguments` are those of an edit, all of them."""

    approval_id: str
    decision: Literal["approve", "reject", "edit"]
    arguments: dict[str, Any] | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if (self.decision == "edit") != (self.arguments is not None):
            raise PydanticCustomError("arguments", "'arguments' belong to the decision 'edit', and to no other")
        if self.arguments is not None and not is_shallow(self.arguments, DEEPEST):
            raise PydanticCustomError("arguments", "'arguments' are nested more than {most} deep", {"most": DEEPEST})
        return self


class ListApprovals(Request):
    """The questions that wait for an answer, the oldest first."""


class ListSessions(Request):
    """The newest sessions."""


class ListTasks(Request):
    """The newest tasks."""


REQUESTS: Mapping[str, type[Request]] = {
    "send_message": SendMessage,
    "join_session": JoinSession,
    "leave_session": LeaveSession,
    "cancel_task": CancelTask,
    "decide_approval": DecideApproval,
    "list_approvals": ListApprovals,
    "list_sessions": ListSessions,
    "list_tasks": ListTasks,
}
"""What each event takes, by its name."""


def read_request(model: type[R], arguments: Sequence[object]) -> R:
    """The request of an event's arguments. Raises InputError, all problems in one line."""
    if len(arguments) > 1:
        raise InputError(f"an event has one payload, and this one came with {len(arguments)}")
    payload: object = next(iter(arguments), None)
    if payload is None:
        payload = dict[str, object]()
    if not isinstance(payload, Mapping):
        raise InputError("the payload is an object, as in {}")
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        raise InputError(_problems(error.errors(include_url=False, include_input=False))) from None


def is_shallow(value: object, most: int) -> bool:
    """Whether lists and objects in it are at most so many deep."""
    level: list[object] = [value]
    for _ in range(most):
        level = [inner for each in level for inner in _children(each)]
        if not level:
            return True
    return not any(isinstance(each, dict | list) for each in level)


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast(dict[str, object], value).values())
    return cast(list[object], value) if isinstance(value, list) else []


def _problems(errors: Sequence[ErrorDetails]) -> str:
    lines = [_line(error) for error in errors[:MOST_PROBLEMS]]
    if len(errors) > MOST_PROBLEMS:
        lines.append(f"and {len(errors) - MOST_PROBLEMS} more")
    return "; ".join(lines)


def _line(error: ErrorDetails) -> str:
    if not error["loc"]:
        return error["msg"]
    where = ".".join(str(part)[:LONGEST_NAME] for part in error["loc"])
    return f"{where!r}: {error['msg'][:1].lower()}{error['msg'][1:]}"
