"""Values as JSON has them, told apart."""

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether `value` is a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list | tuple)


def kind_of_json(value: object) -> str:
    """What a value is called in JSON: null, true or false, a number, a text, a list, a mapping."""
    other = f"a {type(value).__name__}"
    if value is None:
        return "null"
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "true or false"),
        (int, "a number"),
        (float, "a number"),
        (str, "a text"),
        (list, "a list"),
        (tuple, "a list"),
        (Mapping, "a mapping"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), other)
