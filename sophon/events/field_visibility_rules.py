"""Rules of an event's fields, found in their types: what a reader may see of each (`sophon.events.visibility`)."""

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from sophon._python.lazy_typed_dict import is_typed_dict
from sophon.events.visibility import Visibility
from sophon.messages import Usage

FieldRule: TypeAlias = "Visibility | Mapping[str, FieldRule]"
"""Visibility of a field, or of each key of an object or of the objects of a list."""

_PLAIN_TYPES: Final = frozenset({int, float, bool, NoneType, Usage})


def field_rules(owner: type) -> Mapping[str, FieldRule]:
    """Return the rule of each field of an event class or a `TypedDict`; found once for each."""
    return _find_rules(owner)


@cache
def _find_rules(owner: type) -> Mapping[str, FieldRule]:
    hints = get_type_hints(owner, include_extras=True)
    return {name: _rule(hint) for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _rule(hint: Any) -> FieldRule:
    declared = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Visibility)), None)
    if declared is not None:
        return declared
    origin, inner = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _rule(inner[0])
    if origin is Annotated:
        return next((field_rules(each) for each in inner[1:] if is_typed_dict(each)), _rule(inner[0]))
    if is_typed_dict(hint):
        return field_rules(hint)
    if origin in (Union, UnionType):
        rules = [_rule(each) for each in inner if each is not NoneType]
        return rules[0] if all(each == rules[0] for each in rules) else Visibility.CONTENT
    if origin in (list, tuple):
        return _rule(inner[0])
    return Visibility.PLAIN if origin is Literal or hint in _PLAIN_TYPES else Visibility.CONTENT
