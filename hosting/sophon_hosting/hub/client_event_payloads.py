"""Payload models of client events, validated strictly; an error lists all problems."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, cast

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon_hosting.client_api.payload import Payload
from sophon_hosting.client_api.validation_sentences import describe_error

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_REPORTED_PROBLEMS = 10
"""Maximum number of problems in one error message."""

MAX_FIELD_NAME_CHARACTERS = 60
"""Characters of each field name that an error message repeats."""

R = TypeVar("R", bound="EventPayload")

ListLimit = Annotated[int, ValueRules(ge=1, le=1000)]
"""Maximum number of items in a page of a list."""


class EventPayload(Payload):
    """Base class of event payloads: no unknown fields, no type coercion."""

    config: ClassVar[Mapping[str, Any]] = {"extra": "forbid", "strict": True}


class JoinSessionPayload(EventPayload):
    """Subscribe to a session; returns the events after `last_seq`."""

    session_id: str
    last_seq: int | None = None


class LeaveSessionPayload(EventPayload):
    """Unsubscribe from a session."""

    session_id: str


class ListSessionsPayload(EventPayload):
    """List a page of the sessions, newest first; `q` is searched in titles and ids."""

    q: str = ""
    limit: ListLimit = 1000
    cursor: str | None = None


PAYLOAD_MODELS: Mapping[str, type[EventPayload]] = {
    "join_session": JoinSessionPayload,
    "leave_session": LeaveSessionPayload,
    "list_sessions": ListSessionsPayload,
}
"""Payload models by event name."""


def parse_payload(model: type[R], arguments: Sequence[object]) -> R:
    """Validate the arguments of an event and return its payload. Raises InputError with all problems in one line."""
    try:
        return model.validate(parse_object(arguments))
    except ValueError as error:
        from pydantic import ValidationError  # lazy: whoever gets here has loaded it

        if not isinstance(error, ValidationError):
            raise
        raise InputError(_describe_problems(error.errors(include_url=False, include_input=False))) from None


def parse_object(arguments: Sequence[object]) -> Mapping[str, object]:
    """Return the one payload of an event; none counts as an empty object. Raises InputError."""
    if len(arguments) > 1:
        raise InputError(f"an event must have one payload, not {len(arguments)}")
    payload: object = next(iter(arguments), None)
    if payload is None:
        return {}
    if not isinstance(payload, Mapping):
        raise InputError("the payload must be an object, for example {}")
    return cast(Mapping[str, object], payload)


def _describe_problems(errors: "Sequence[ErrorDetails]") -> str:
    problems = [_describe_problem(error) for error in errors[:MAX_REPORTED_PROBLEMS]]
    if len(errors) > MAX_REPORTED_PROBLEMS:
        problems.append(f"and {len(errors) - MAX_REPORTED_PROBLEMS} more")
    return "; ".join(problems)


def _describe_problem(error: "ErrorDetails") -> str:
    if not error["loc"]:
        return describe_error(error)
    path = ".".join(str(part)[:MAX_FIELD_NAME_CHARACTERS] for part in error["loc"])
    return f"{path!r}: {describe_error(error)}"
