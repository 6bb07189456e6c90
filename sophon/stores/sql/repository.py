"""What the repositories of an SQL store share: their database, and parts of queries that several of them build."""

from collections.abc import Callable, Generator, Iterable, Mapping
from copy import copy
from itertools import islice
from typing import Any, Final, Self, TypeVar

from sqlalchemy import Column, ColumnElement

from sophon.clock import Clock
from sophon.stores.sql.database import Database

T = TypeVar("T")

KEYS_PER_QUERY: Final = 500
"""Databases limit the number of parameters of a statement."""


class Repository:
    """A repository of an `SqlStore`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def over(self, wrap: Callable[[Database], Any]) -> Self:
        """Return the same repository over what `wrap` makes of its database, as that of a turn."""
        view = copy(self)
        view._database = wrap(self._database)
        return view


def matching(wanted: Mapping[Column[T], T | None]) -> list[ColumnElement[bool]]:
    """Return the conditions for columns that must have a given value; None: any."""
    return [column == value for column, value in wanted.items() if value is not None]


def in_parts(keys: Iterable[T]) -> Generator[list[T]]:
    """Yield the keys in lists that a query can take as parameters."""
    remaining = iter(keys)
    while part := list(islice(remaining, KEYS_PER_QUERY)):
        yield part
