"""JSON types: type guards, type names for messages, and paths to a setting."""

from collections.abc import Mapping
from typing import Any, TypeGuard

SettingPath = tuple[str | int, ...]
"""Path to a setting: keys in their JSON spelling, and list indices."""


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether `value` is a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Return whether `value` is a JSON array."""
    return isinstance(value, list | tuple)


def describe_json_type(value: object) -> str:
    """Return the type name for messages: null, true or false, a number, a text, a list, a mapping."""
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
