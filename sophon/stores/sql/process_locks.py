"""Locks by which a PostgreSQL server knows which processes use the store: it releases them when a process dies.

A number of a process says nothing on another machine, nor in another container of the same name. SQLite's file is on
one machine, where the number is enough.
"""

import secrets
from functools import cache
from os import getpid
from typing import Any

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection

LOCK_CLASS = 1397772883
"""First key of these locks: an arbitrary constant."""

_LIVE = text(
    "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = :class "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def current_process_id() -> str:
    """Return a random id of this process: a restarted container has the same host and process number."""
    return _id_of_pid(getpid())


def hold_process_lock(engine: Engine) -> None:
    """Hold the lock of this process with each connection of the engine. It needs a pooler in session mode, if any."""
    event.listen(engine, "connect", _lock)


def is_process_known(connection: Connection, process_id: str) -> bool:
    """Return whether a process with this id has the store open. One whose connection is lost is not until it writes."""
    return _key(process_id) in set(connection.execute(_LIVE, {"class": LOCK_CLASS}).scalars())


def _lock(connection: DBAPIConnection, _: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SELECT pg_advisory_lock_shared({LOCK_CLASS}, {_key(current_process_id())})")
    cursor.close()
    connection.commit()


def _key(process_id: str) -> int:
    """Return the second key of the lock: 31 bits, so that it is positive in both of the server's number types."""
    return int(process_id[:8] or "0", 16) & 0x7FFFFFFF


@cache
def _id_of_pid(pid: int) -> str:
    return secrets.token_hex(8)
