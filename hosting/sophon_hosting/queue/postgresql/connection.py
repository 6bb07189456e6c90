"""Connections of the queue to PostgreSQL, and which errors mean that there is none."""

import asyncio
import select

from psycopg import AsyncConnection, Error, InterfaceError, OperationalError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import (
    DeadlockDetected,
    LockNotAvailable,
    ReadOnlySqlTransaction,
    UndefinedFunction,
    UndefinedTable,
)

from sophon.errors import SettingsError
from sophon_hosting.queue.postgresql.schema import ensure_schema, with_prefix

CONNECT_SECONDS = 5
"""Time for a connection attempt; without a limit it would last minutes where nothing answers."""

SERVER_SECONDS = 10
"""Time after which a connection counts as lost if the server does not answer."""

_SESSION = (
    # Nothing depends on a commit that a crash of the server loses: the store has every run, and puts it back.
    ("synchronous_commit", "off"),
    # Plans are made while the tables are small, and kept: they must be right for large ones.
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_sort", "off"),
    ("jit", "off"),
    ("client_min_messages", "warning"),
    ("lock_timeout", f"{SERVER_SECONDS}s"),
    ("idle_in_transaction_session_timeout", f"{SERVER_SECONDS}s"),
)

_LOST = (
    OperationalError,
    InterfaceError,
    ReadOnlySqlTransaction,
    UndefinedTable,
    UndefinedFunction,
    OSError,
    TimeoutError,
)
"""What a lost connection raises, and one to a standby; and what happens after the tables were dropped: connecting makes
them anew.
"""


def to_conninfo(url: str) -> str:
    """Return libpq's connection string of a URL, also of one that names a driver. Raises SettingsError."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise SettingsError(["Queue.Url: the queue in PostgreSQL needs a URL that begins with postgresql://"])
    try:
        return make_conninfo(
            f"postgresql://{rest}",
            connect_timeout=CONNECT_SECONDS,
            tcp_user_timeout=SERVER_SECONDS * 1000,
            keepalives_idle=SERVER_SECONDS,
            keepalives_interval=SERVER_SECONDS,
        )
    except Error as error:
        raise SettingsError([f"Queue.Url: {str(error).strip().partition(chr(10))[0]}"]) from None


async def connect(conninfo: str, name: str) -> AsyncConnection:
    """Open a connection and create the queue's tables if they are missing."""
    async with asyncio.timeout(2 * CONNECT_SECONDS):
        connection = await AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=None)
    try:
        async with asyncio.timeout(SERVER_SECONDS):
            await ensure_schema(connection, name)
            await connection.execute(with_prefix("SELECT sophon_queue_advance_tokens()", name))
            chosen = str(conninfo_to_dict(conninfo).get("options") or "")
            settings = [f"SET {key} = '{value}'" for key, value in _SESSION if key not in chosen]
            await connection.execute("; ".join(settings).encode())
    except BaseException:
        await connection.close()
        raise
    connection.prepare_threshold = 0  # every statement at its first use: all of them come again
    return connection


def is_broken(connection: AsyncConnection) -> bool:
    """Return whether something has come on a connection that waits for nothing: its end, or the reason of it."""
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


def is_lost(error: BaseException) -> bool:
    """Return whether the error means that the connection, or the queue's tables, are gone."""
    return isinstance(error, _LOST) and not is_transient(error)


def is_transient(error: BaseException) -> bool:
    """Return whether the statement had no effect and may be repeated on the same connection."""
    return isinstance(error, (DeadlockDetected, LockNotAvailable))
