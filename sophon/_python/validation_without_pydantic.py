"""Acceptance of values that are plainly valid, without pydantic; whatever else is left to pydantic, which judges it.

It buys the 180 ms in which pydantic builds its validator of all settings, and the 47 ms of its import. What is accepted
here is accepted by pydantic with the same result; what is not accepted here may be valid all the same.
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from sophon._python.value_rules import ValueRules

Accept = Callable[[Any], Any]
"""Returns the validated value. Raises NotPlain, or a ValueError of a rule."""

MAX_EXACT_INTEGER = 2**53
"""Integers up to this are the same number as a float."""

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, limit: value >= limit,
    "gt": lambda value, limit: value > limit,
    "le": lambda value, limit: value <= limit,
    "min_length": lambda value, limit: len(value) >= limit,
    "max_length": lambda value, limit: len(value) <= limit,
    "pattern": lambda value, limit: value.isprintable() and value.isascii() and re.search(limit, value) is not None,
}
"""Whether a value is within a limit. Printable ASCII is where the dialects of `re` and of pydantic's patterns agree."""


class NotPlain(ValueError):
    """The value is not plainly valid, or its type is not known here: pydantic must judge it."""


def build_acceptor(annotation: Any, limits: Mapping[str, Any] | None = None) -> Accept:
    """Return the function that accepts values of a type, with the limits of a field.

    A class with a classmethod `accept_plain` accepts its own values.
    """
    accept = _build(annotation)
    return partial(_accept_limited, accept, dict(limits)) if limits else accept


def is_plain_text(value: object) -> bool:
    """Return whether the value is a text that UTF-8 can encode."""
    if type(value) is not str:
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _build(annotation: Any) -> Accept:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        accept = _build(inner[0])
        for rule in inner[1:]:
            accept = _build_rule(accept, rule, inner[0])
        return accept
    if origin in (Union, UnionType):
        return _build_optional(inner)
    if origin is Literal:
        return partial(_accept_literal, inner)
    if origin is tuple and len(inner) == 2 and inner[1] is ...:
        return partial(_accept_items, _build(inner[0]))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping) and inner[0] is str:
        return partial(_accept_mapping, _build(inner[1]))
    own: Accept | None = getattr(annotation, "accept_plain", None)
    if own is not None:
        return own
    return _SIMPLE.get(annotation, _refuse) if isinstance(annotation, type) else _refuse


def _build_rule(accept: Accept, rule: object, annotation: Any) -> Accept:
    if isinstance(rule, ValueRules):
        return partial(_accept_by_rules, accept, rule)
    find_rules: Callable[[Any], ValueRules] | None = getattr(rule, "rules_of", None)
    return _refuse if find_rules is None else partial(_accept_by_rules, accept, find_rules(annotation))


def _build_optional(members: tuple[Any, ...]) -> Accept:
    others = [each for each in members if each is not NoneType]
    if len(others) != 1 or len(others) == len(members):
        return _refuse
    return partial(_accept_optional, _build(others[0]))


def _accept_by_rules(accept: Accept, rules: ValueRules, value: Any) -> Any:
    if rules.before is not None:
        value = rules.before(value)
    value = _accept_limited(accept, rules.limits, value)
    return value if rules.after is None else rules.after(value)


def _accept_limited(accept: Accept, limits: Mapping[str, Any], value: Any) -> Any:
    accepted = accept(value)
    for name, limit in limits.items():
        if name == "strict":
            continue
        if name not in _COMPARISONS or accepted is None or not _COMPARISONS[name](accepted, limit):
            raise NotPlain
    return accepted


def _accept_optional(accept: Accept, value: Any) -> Any:
    return None if value is None else accept(value)


def _accept_literal(options: tuple[Any, ...], value: Any) -> Any:
    if type(value) is str and value in options:
        return value
    raise NotPlain


def _accept_items(accept: Accept, value: Any) -> Any:
    if type(value) not in (list, tuple):
        raise NotPlain
    return tuple([accept(each) for each in value])


def _accept_mapping(accept: Accept, value: Any) -> Any:
    if type(value) is not dict:
        raise NotPlain
    given = cast("dict[object, object]", value)
    return {_accept_text(key): accept(each) for key, each in given.items()}


def _accept_text(value: Any) -> str:
    if is_plain_text(value):
        return str(value)
    raise NotPlain


def _accept_integer(value: Any) -> int:
    if type(value) is int and -MAX_EXACT_INTEGER <= value <= MAX_EXACT_INTEGER:
        return value
    raise NotPlain


def _accept_number(value: Any) -> float:
    if type(value) is float and isfinite(value):
        return value
    return float(_accept_integer(value))


def _accept_instance(kind: type, value: Any) -> Any:
    if type(value) is kind:
        return value
    raise NotPlain


def _accept_path(value: Any) -> Path:
    return Path(_accept_text(value))


def _refuse(value: Any) -> Any:
    raise NotPlain


_SIMPLE: Mapping[Any, Accept] = {
    str: _accept_text,
    int: _accept_integer,
    float: _accept_number,
    bool: partial(_accept_instance, bool),
    timedelta: partial(_accept_instance, timedelta),
    Path: _accept_path,
}
