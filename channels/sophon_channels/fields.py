"""Tolerant access to untrusted JSON: a value that is missing or has the wrong type reads as an empty value."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

Fields: TypeAlias = Mapping[str, Any]
"""A JSON object."""

NOTHING: Fields = {}
"""The empty JSON object, for missing values."""


def as_fields(value: object) -> Fields:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("Fields", value) if isinstance(value, dict) else NOTHING


def sub(fields: Fields, key: str) -> Fields:
    """Return the object under a key, or an empty object."""
    return as_fields(fields.get(key))


def objects(fields: Fields, key: str) -> Sequence[Fields]:
    """Return the objects of the list under a key; other items are skipped."""
    value = fields.get(key)
    return [as_fields(item) for item in cast("list[object]", value) if item] if isinstance(value, list) else []


def text(fields: Fields, key: str) -> str:
    """Return the string under a key, storable in every database (no NUL, no lone surrogate); "" if there is none."""
    value = fields.get(key)
    return storable(value) if isinstance(value, str) else ""


def texts(fields: Fields, key: str) -> Sequence[str]:
    """Return the strings of the list under a key; other items are skipped."""
    value = fields.get(key)
    return [item for item in cast("list[object]", value) if isinstance(item, str)] if isinstance(value, list) else []


def whole(fields: Fields, key: str) -> int | None:
    """Return the integer of at most 64 bits under a key, None if there is none; booleans do not count."""
    value = fields.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def storable(value: str) -> str:
    """Return the text with surrogate pairs joined, and lone surrogates and NUL replaced by U+FFFD."""
    if "\x00" in value:
        value = value.replace("\x00", "\ufffd")
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
