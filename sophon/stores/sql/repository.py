"""What the repositories of an SQL store share: their database, and parts of queries that several of them build."""

from collections.abc import Callable, Generator, Iterable, Mapping
from copy import copy
from itertools import islice
from typing import ClassVar, Final, Self, TypeVar

from sqlalchemy import Column, ColumnElement, Connection

from sophon.clock import Clock
from sophon.stores.sql.database import Database
from sophon.stores.unit_of_work import Write, WriteKind

T = TypeVar("T")

KEYS_PER_QUERY: Final = 500
"""Databases limit the number of parameters of a statement."""


class TurnRepository:
    """A repository with writes that return nothing and need no transaction of their own."""

    kind: ClassVar[WriteKind]

    def __init__(self, database: Database) -> None:
        self._database = database
        self._collect: Callable[[Write], None] | None = None

    def collecting(self, collect: Callable[[Write], None]) -> Self:
        """Return the same repository, whose `_add` hands a write to `collect` instead of storing it."""
        view = copy(self)
        view._collect = collect
        return view

    async def _add(self, work: Callable[[Connection], object]) -> None:
        """Store what `work` writes: now, in a transaction of its own, or with those who collect it."""
        if self._collect is None:
            await self._database.write(work)
        else:
            self._collect(Write(self.kind, work))


class Repository:
    """A repository of an `SqlStore`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock


def matching(wanted: Mapping[Column[T], T | None]) -> list[ColumnElement[bool]]:
    """Return the conditions for columns that must have a given value; None: any."""
    return [column == value for column, value in wanted.items() if value is not None]


def in_parts(keys: Iterable[T]) -> Generator[list[T]]:
    """Yield the keys in lists that a query can take as parameters."""
    remaining = iter(keys)
    while part := list(islice(remaining, KEYS_PER_QUERY)):
        yield part
