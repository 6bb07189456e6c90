"""Time by one clock for all processes of a store."""

from datetime import UTC, datetime

from sqlalchemy import Connection, text

from sophon.clock import Clock


def read_server_time(connection: Connection, clock: Clock) -> datetime:
    """Return the server's time, which all its clients share; a file's processes share that of the machine.

    Not that of the transaction, which may have waited for its lock.
    """
    if connection.dialect.name == "sqlite":
        return clock.now()
    read: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return read.astimezone(UTC)
