"""JSON Schema of the events that a host sends, from their classes; for generators, never at run time."""

from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import Annotated, Any, Final, NotRequired, TypeAlias, Union, get_args, get_origin, get_type_hints

from sophon._python.lazy_typed_dict import is_typed_dict
from sophon.events import Event
from sophon.messages import Usage
from sophon_hosting.events.large_fields import LARGE_FIELD, LargeFieldReference
from sophon_hosting.features.usage.results import UsageView
from sophon_hosting.reference.protocol_tables import list_event_types

Schema: TypeAlias = dict[str, Any]

REFERENCES: Final = "#/$defs/{model}"


def event_schemas(references: str = REFERENCES) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """Return the schema of each event's payload by wire name, and by their names the types that those refer to.

    `references` is the template of a reference to such a type.
    """
    from pydantic import TypeAdapter  # lazy: what a host imports at its start has no pydantic

    kinds = list_event_types()
    adapters: list[Any] = [(each.wire_name, "serialization", TypeAdapter(payload_type(each))) for each in kinds]
    _, document = TypeAdapter.json_schemas(adapters, ref_template=references)
    shared: dict[str, Schema] = document["$defs"]
    return {each.wire_name: shared.pop(each.__name__) for each in kinds}, shared


def payload_type(kind: type[Event]) -> Any:
    """Return the payload of an event as a `TypedDict`: what `Event.to_wire` returns, and the field for large fields."""
    import typing_extensions  # lazy: see `event_schemas`

    hints = get_type_hints(kind, include_extras=True)
    keys = {each.name: _json_type(hints[each.name]) for each in fields(kind)}
    del keys["seq"]
    for name in kind.omitted_if_empty:
        keys[name] = NotRequired[keys[name]]
    numbered = {"seq": int} if kind.durable else {}
    make: Any = typing_extensions.TypedDict
    payload = make(kind.__name__, keys | numbered | {LARGE_FIELD: NotRequired[dict[str, LargeFieldReference]]})
    payload.__doc__ = kind.__doc__
    return payload


def _json_type(hint: Any) -> Any:
    """Return the type of a field's value in JSON."""
    origin, inner = get_origin(hint), get_args(hint)
    array: Any = list
    if hint is Usage:
        return UsageView
    if origin is Annotated:
        detail: Any = next((each for each in inner[1:] if is_typed_dict(each)), None)
        if detail is None:
            return _json_type(inner[0])
        return detail if get_origin(inner[0]) is Mapping else array[detail]
    if origin in (Union, UnionType):
        return Union[tuple(_json_type(each) for each in inner)]  # noqa: UP007 - of any number
    return array[_json_type(inner[0])] if origin in (list, tuple) else hint
