"""Event base class: what each event declares of itself, its form on the wire and back, and the listener's protocol."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.events.visibility import Plain
from sophon.messages import Usage

Audience: TypeAlias = Literal["session", "operators", "lists"]
"""Who receives an event: the subscribers of its session; operators too, of all sessions; or whoever may see the session
in a list, too."""


@dataclass(slots=True, kw_only=True)
class Event:
    """Base class: the ids of session, task and run, and the sequence number within the session.

    A subclass is the only declaration of its event: its class attributes say where it goes, the types of its fields
    what they hold and who may read that (`sophon.events.visibility`). The docstring is its line in docs/protocol.md.
    """

    wire_name: ClassVar[str] = "event"
    """Name on the wire; by default that of the class in snake case."""
    durable: ClassVar[bool] = True
    """Whether it is numbered and stored, replayed to clients that missed it, and sent by webhooks that want it."""
    is_trace: ClassVar[bool] = False
    """Whether it is stored with the events of its task without a number; such an event is not `durable`."""
    in_trace: ClassVar[bool] = True
    """Whether the trace of the turn has it, as a part of its own or as a note."""
    audience: ClassVar[Audience] = "session"
    is_approval: ClassVar[bool] = False
    """Whether it is about an approval: who may decide approvals reads all its fields."""
    is_first: ClassVar[bool] = False
    """Whether it may be the first event of its task."""
    is_final: ClassVar[bool] = False
    """Whether it is the last event of its task, the outcome."""
    is_live: ClassVar[bool] = False
    """Whether it shows a running task only, and is out of date once the task has its outcome."""
    is_process_local: ClassVar[bool] = False
    """Whether each process of a deployment emits its own, so that none is passed on to the others."""
    unique_by: ClassVar[tuple[str, ...] | None] = None
    """Fields that identify it within its task, which emits it once even if the turn resumes; None: it may repeat."""
    omitted_if_empty: ClassVar[tuple[str, ...]] = ()
    """Fields that are missing on the wire while they are empty."""

    session_id: Plain = ""
    task_id: Plain = ""
    run_id: Plain = ""
    seq: int | None = None

    def __init_subclass__(cls) -> None:
        if "wire_name" not in vars(cls):
            cls.wire_name = "".join(f"_{each.lower()}" if each.isupper() else each for each in cls.__name__)[1:]
        if cls.is_trace:
            cls.durable = False
        # A dataclass with slots is made anew from the first class, and takes its place.
        known = _EVENT_TYPES.get(cls.wire_name, cls)
        if (known.__module__, known.__name__) != (cls.__module__, cls.__name__):
            raise TypeError(f"event {cls.wire_name!r} is declared twice, by {known!r} and by {cls!r}")
        _EVENT_TYPES[cls.wire_name] = cls

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON-serialisable payload; `seq` is omitted when it is None."""
        data: dict[str, Any] = {}
        for name in _field_names(type(self)):  # type: ignore[arg-type] # mypy takes the class for one of its instances
            value = getattr(self, name)
            data[name] = value if type(value) in _SCALAR_TYPES else _to_jsonable(value)
        if self.seq is None:
            del data["seq"]
        if self.omitted_if_empty:
            for name in self.omitted_if_empty:
                if not data[name]:
                    del data[name]
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


_EVENT_TYPES: Final[dict[str, type[Event]]] = {}
"""Event classes by wire name."""

_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})
_CONVERTERS: Mapping[type[Any], Callable[[Any], Any]] = {dict: dict, tuple: list, Usage: Usage.to_json}


def event_types() -> Mapping[str, type[Event]]:
    """Return the event classes by wire name, in the order of their declaration."""
    return _EVENT_TYPES


def event_type(name: str) -> type[Event]:
    """Return the event class of a wire name; `Event`, with its defaults, for an unknown one."""
    return _EVENT_TYPES.get(name, Event)


def event_from_wire(name: str, data: Mapping[str, Any]) -> Event | None:
    """Parse the event `name` with payload `data`, as a client receives it; None for an unknown event name.

    Unknown fields are ignored. Raises TypeError for a payload with a missing field.
    """
    found = _EVENT_TYPES.get(name)
    if found is None:
        return None
    known = {field.name for field in fields(found)}
    given = {key: value for key, value in data.items() if key in known}
    if isinstance(given.get("usage"), Mapping):
        given["usage"] = Usage.from_json(given["usage"])
    return found(**given)


@cache
def _field_names(event: type[Event]) -> tuple[str, ...]:
    # Cached per class: every event of a host goes through `to_wire`.
    return tuple(field.name for field in fields(event))


def _to_jsonable(value: Any) -> Any:
    convert = _CONVERTERS.get(value.__class__)  # exact types first: these are nearly all
    if convert is not None:
        return convert(value)
    return dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON data
