"""Socket.IO binding of operations: a client event has the name of an operation and its request as the one payload."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, cast

from sophon.errors import InputError, SophonError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.registry import load_operations

MAX_EVENT_NAME_CHARACTERS: Final = 100
"""Characters of an unknown event's or namespace's name that an error message repeats."""


class UnknownEvent(SophonError):
    """The client sent an event that no operation has."""

    code = "unknown_event"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name[:MAX_EVENT_NAME_CHARACTERS]
        near = get_close_matches(self.name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known events: {', '.join(known)}"
        super().__init__(f"unknown event {self.name!r}{hint}")


async def handle_event(caller: Caller, name: str, arguments: Sequence[object]) -> Mapping[str, Any]:
    """Run the operation of an event and return its result: the payload of the acknowledgement, without `ok`.

    Raises UnknownEvent, InputError, and the errors of the operation.
    """
    operation = load_operations().by_event.get(name)
    if operation is None:
        raise UnknownEvent(name, [*load_operations().by_event])
    operation.check(caller)
    result = await operation.call(caller, operation.request.validate(parse_object(arguments)))
    return cast(Mapping[str, Any], result)


def has_large_answer(name: str) -> bool:
    """Return whether the acknowledgement of an event may be large."""
    operation = load_operations().by_event.get(name)
    return operation is not None and operation.options.is_large


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
