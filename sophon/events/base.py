"""Event base class: the ids of every event, its form on the wire and back, and the listener's protocol."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Usage


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
