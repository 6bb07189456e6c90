"""Reading JSON that somebody else wrote: what is not there, or is something else, is simply missing."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

Fields: TypeAlias = Mapping[str, Any]

NOTHING: Fields = {}


def as_fields(value: object) -> Fields:
    """The object, or an empty one."""
    return cast("Fields", value) if isinstance(value, dict) else NOTHING


def sub(fields: Fields, key: str) -> Fields:
    """The object below a key, or an empty one."""
    return as_fields(fields.get(key))


def objects(fields: Fields, key: str) -> Sequence[Fields]:
    """The objects of a list below a key; what is no object in it is left out."""
    value = fields.get(key)
    return [as_fields(item) for item in cast("list[object]", value) if item] if isinstance(value, list) else []


def text(fields: Fields, key: str) -> str:
    """A text that every store can keep: no NUL, no half of a surrogate pair; "" if there is none."""
    value = fields.get(key)
    return storable(value) if isinstance(value, str) else ""


def texts(fields: Fields, key: str) -> Sequence[str]:
    """The texts of a list below a key."""
    value = fields.get(key)
    return [item for item in cast("list[object]", value) if isinstance(item, str)] if isinstance(value, list) else []


def whole(fields: Fields, key: str) -> int | None:
    """An integer of at most 64 bits; True and False are none."""
    value = fields.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def storable(value: str) -> str:
    """The text with halves of pairs joined, lonely halves and NUL replaced by U+FFFD."""
    if "\x00" in value:
        value = value.replace("\x00", "\ufffd")
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
