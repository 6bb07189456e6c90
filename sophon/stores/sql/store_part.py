"""Base class of repositories that are added to an SQL store, with their tables and the lifetime of their rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Connection, FromClause, Select, Table

from sophon.stores.run_fence import RunFence
from sophon.stores.sql.repository import Repository


class StorePart(Repository):
    """A repository that is given to an `SqlStore`, which adds its tables to the schema and asks it about sessions.

    The class methods run in the transaction of the repository that calls them. Unless overridden they do nothing.
    """

    tables: ClassVar[Sequence[Table]] = ()
    """Its tables; they are made when a store is opened with the part for the first time."""

    versions: ClassVar[Mapping[str, Select[Any]]] = {}
    """By kind, the query for the version of one of its rows; the parameter `which` is the row's id."""

    @classmethod
    def check_fences(cls, connection: Connection, fences: Iterable[RunFence]) -> None:
        """Raise StaleRun for the fence of a start that was continued elsewhere."""

    @classmethod
    def delete_linked(cls, connection: Connection, session_id: str) -> Sequence[str]:
        """Delete what a session that is about to be deleted has begun, and return the other sessions that it used."""
        return ()

    @classmethod
    def has_unfinished_work(cls, connection: Connection, session_id: str) -> bool:
        """Return whether something of a session has begun and not ended."""
        return False

    @classmethod
    def delete_session(cls, connection: Connection, session_id: str) -> None:
        """Delete what is stored about a session, which itself is deleted next; foreign keys cascade besides."""

    @classmethod
    def find_uses(cls, rows: FromClause) -> Sequence[ColumnElement[bool]]:
        """Return the conditions under which the session of a row is in use, however long it is idle."""
        return ()

    @classmethod
    def forget_person(cls, connection: Connection, person: str) -> Mapping[str, int]:
        """Delete what is stored about a person outside of sessions; return the number of rows by kind."""
        return {}
