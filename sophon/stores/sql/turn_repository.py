"""Repositories whose writes a turn may collect, to store them with its next transaction."""

from collections.abc import Callable
from copy import copy
from typing import ClassVar, Self

from sqlalchemy import Connection

from sophon.stores.sql.database import Database
from sophon.stores.unit_of_work import Write, WriteKind


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
