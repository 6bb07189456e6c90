"""Tolerant access to untrusted JSON: a value that is missing or has the wrong type reads as an empty value."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

JsonObject: TypeAlias = Mapping[str, Any]
"""A JSON object."""

EMPTY_OBJECT: JsonObject = {}
"""The empty JSON object, for missing values."""


def object_from_json(value: object) -> JsonObject:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("JsonObject", value) if isinstance(value, dict) else EMPTY_OBJECT


def get_object(data: JsonObject, key: str) -> JsonObject:
    """Return the object under a key, or an empty object."""
    return object_from_json(data.get(key))


def get_objects(data: JsonObject, key: str) -> Sequence[JsonObject]:
    """Return the objects of the list under a key; other items are skipped."""
    value = data.get(key)
    return [object_from_json(item) for item in cast("list[object]", value) if item] if isinstance(value, list) else []


def get_text(data: JsonObject, key: str) -> str:
    """Return the string under a key, storable in every database (no NUL, no lone surrogate); "" if there is none."""
    value = data.get(key)
    return sanitize_text(value) if isinstance(value, str) else ""


def get_texts(data: JsonObject, key: str) -> Sequence[str]:
    """Return the strings of the list under a key; other items are skipped."""
    value = data.get(key)
    return [item for item in cast("list[object]", value) if isinstance(item, str)] if isinstance(value, list) else []


def get_int(data: JsonObject, key: str) -> int | None:
    """Return the integer of at most 64 bits under a key, None if there is none; booleans do not count."""
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def sanitize_text(value: str) -> str:
    """Return the text with surrogate pairs joined, and lone surrogates and NUL replaced by U+FFFD."""
    if "\x00" in value:
        value = value.replace("\x00", "\ufffd")
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
