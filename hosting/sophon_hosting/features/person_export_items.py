"""What a feature keeps of a person, as items of the export of that person."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from sophon._python.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sophon_hosting.store.contract import HostStore

ALL: Final = 1_000_000
"""Limit of a list that is to be complete."""


@dataclass(frozen=True, slots=True, eq=False)
class PersonData:
    """Things of one kind that belong to a person: each is an item `{"kind": kind, kind: value}` of the export.

    `read` returns the values of a person. `parse` checks a value of an export, which may come from another host, for
    the person to whom it will belong; it raises InputError, KeyError, TypeError or ValueError for one that is none.
    `add` stores what `parse` returned, once the person's sessions exist, and returns whether it did: what exists stays
    as it is. What is imported does nothing by itself. Forgetting is `StorePart.forget_person`.
    """

    kind: str
    read: "Callable[[HostStore, str], Awaitable[Iterable[Mapping[str, Any]]]]"
    parse: Callable[[Mapping[str, Any], str], Any]
    add: "Callable[[HostStore, Any, str], Awaitable[bool]]"


def to_json(value: Any) -> Any:
    """Return a record of a store as JSON values: times in ISO 8601."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): to_json(part) for key, part in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Enum):
        return value.name.lower()
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    return value
