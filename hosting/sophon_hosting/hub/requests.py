"""Payload models of client events, validated strictly; an error lists all problems."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from sophon.errors import InputError

DEEPEST = 32
"""Maximum nesting of lists and objects in the arguments of a tool call."""

MOST_PROBLEMS = 10
"""Maximum number of problems in one error message."""

LONGEST_NAME = 60
"""Characters of each field name that an error message repeats."""

R = TypeVar("R", bound="Request")


class Request(BaseModel):
    """Base class of event payloads: no unknown fields, no type coercion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, defer_build=True)


class SendMessage(Request):
    """Send a message to the agent; without `session_id`, to a new session."""

    content: str
    session_id: str | None = None
    client_message_id: str | None = None
    stream: bool = True
    model: str | None = None
    planning: str | None = None


class JoinSession(Request):
    """Subscribe to a session; returns the events after `last_seq`."""

    session_id: str
    last_seq: int | None = None


class LeaveSession(Request):
    """Unsubscribe from a session."""

    session_id: str


class CancelTask(Request):
    """Cancel a task."""

    task_id: str


class DecideApproval(Request):
    """Decide an approval. `arguments` belong to `edit` only, and replace all arguments of the call."""

    approval_id: str
    decision: Literal["approve", "reject", "edit"]
    arguments: dict[str, Any] | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _check_arguments(self) -> Self:
        if (self.decision == "edit") != (self.arguments is not None):
            raise PydanticCustomError("arguments", "'arguments' are required for the decision 'edit', and only for it")
        if self.arguments is not None and not is_shallow(self.arguments, DEEPEST):
            raise PydanticCustomError("arguments", "'arguments' are nested more than {most} deep", {"most": DEEPEST})
        return self


class ListApprovals(Request):
    """List the open approvals, oldest first."""


class ListSessions(Request):
    """List the sessions, newest first."""


class ListTasks(Request):
    """List the tasks, newest first."""


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
"""Payload models by event name."""


def read_request(model: type[R], arguments: Sequence[object]) -> R:
    """Validate the arguments of an event and return its payload. Raises InputError with all problems in one line."""
    if len(arguments) > 1:
        raise InputError(f"an event must have one payload, not {len(arguments)}")
    payload: object = next(iter(arguments), None)
    if payload is None:
        payload = dict[str, object]()
    if not isinstance(payload, Mapping):
        raise InputError("the payload must be an object, for example {}")
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        raise InputError(_describe_problems(error.errors(include_url=False, include_input=False))) from None


def is_shallow(value: object, most: int) -> bool:
    """Return whether lists and objects are nested at most `most` levels deep."""
    level: list[object] = [value]
    for _ in range(most):
        level = [child for each in level for child in _children(each)]
        if not level:
            return True
    return not any(isinstance(each, dict | list) for each in level)


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast(dict[str, object], value).values())
    return cast(list[object], value) if isinstance(value, list) else []


def _describe_problems(errors: Sequence[ErrorDetails]) -> str:
    problems = [_describe_problem(error) for error in errors[:MOST_PROBLEMS]]
    if len(errors) > MOST_PROBLEMS:
        problems.append(f"and {len(errors) - MOST_PROBLEMS} more")
    return "; ".join(problems)


def _describe_problem(error: ErrorDetails) -> str:
    if not error["loc"]:
        return error["msg"]
    path = ".".join(str(part)[:LONGEST_NAME] for part in error["loc"])
    return f"{path!r}: {error['msg'][:1].lower()}{error['msg'][1:]}"
