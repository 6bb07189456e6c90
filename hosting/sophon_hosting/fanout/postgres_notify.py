"""PostgreSQL transport: LISTEN and NOTIFY over one connection of its own; sessions share a fixed number of channels."""

import asyncio
import os
from collections.abc import Sequence, Set
from contextlib import suppress
from hashlib import sha256
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from sophon.errors import SettingsError
from sophon.security import hide_url_secrets, redact
from sophon_hosting.fanout.fanout_transport import Receive, TransportLost, Watching

MAX_PAYLOAD_BYTES = 7_900
"""PostgreSQL takes payloads shorter than 8,000 bytes."""

BUCKETS = 64
"""Channels of sessions: who watches all sessions listens to them all, for there are no patterns."""

PING_SECONDS = 10.0
SERVER_TIMEOUT_SECONDS = 5
"""Time without a message after which the server is asked whether it is there, and how long it may take to answer."""


class PostgresTransport:
    """LISTEN and NOTIFY, which keep nothing for who is not connected. Not through a pooler of transactions."""

    max_payload_bytes = MAX_PAYLOAD_BYTES

    def __init__(self, url: str, prefix: str) -> None:
        """`url` is one of libpq. Raises SettingsError for one that it cannot read."""
        self.name = hide_url_secrets(url)
        self._url, self._prefix = url, f"{prefix}_fanout"
        try:
            conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            raise SettingsError([f"Hub.FanoutUrl or Store.Url: {self.name} is no URL of PostgreSQL"]) from None
        self._connection: psycopg.AsyncConnection | None = None
        self._lock = asyncio.Lock()
        self._readable = asyncio.Event()
        self._descriptor: int | None = None
        self._channels: set[str] = set()
        self._watched: frozenset[str] = frozenset()
        self._receive: Receive | None = None
        self._on_watching: Watching | None = None

    async def open(self, receive: Receive, on_watching: Watching) -> None:
        """See `FanoutTransport`."""
        self._receive, self._on_watching = receive, on_watching
        self._channels, self._watched = set(), frozenset()
        try:
            self._connection = connection = await psycopg.AsyncConnection.connect(
                self._url,
                autocommit=True,
                application_name="sophon fan-out",
                connect_timeout=SERVER_TIMEOUT_SECONDS,
                keepalives_idle=SERVER_TIMEOUT_SECONDS,
                tcp_user_timeout=SERVER_TIMEOUT_SECONDS * 1000,
            )
        except (psycopg.Error, OSError) as error:
            raise TransportLost(_describe(error)) from error
        connection.add_notify_handler(self._handle)
        # A notification is no data: nobody waits for the disk.
        await self._execute("SET synchronous_commit = off")
        await self._execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._prefix)))
        self._readable.clear()
        # A descriptor of our own: psycopg, too, waits for the other one, and stops that for both of us.
        self._descriptor = os.dup(connection.fileno())
        asyncio.get_running_loop().add_reader(self._descriptor, self._readable.set)

    async def watch(self, sessions: Set[str], *, all_sessions: bool) -> None:
        """See `FanoutTransport`."""
        wanted = {self._bucket(each) for each in sessions}
        if all_sessions:
            wanted = {f"{self._prefix}_{index}" for index in range(BUCKETS)}
        for channel in wanted - self._channels:
            await self._execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        for channel in self._channels - wanted:
            await self._execute(sql.SQL("UNLISTEN {}").format(sql.Identifier(channel)))
        self._channels = wanted
        added, self._watched = sessions - self._watched, frozenset(sessions)
        assert self._on_watching is not None
        for session_id in added:
            self._on_watching(session_id)

    async def send(self, frames: Sequence[tuple[str | None, bytes]]) -> None:
        """See `FanoutTransport`."""
        channels = [self._prefix if topic is None else self._bucket(topic) for topic, _ in frames]
        payloads = [payload.decode() for _, payload in frames]
        await self._execute(
            "SELECT pg_notify(channel, payload) FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY "
            "AS each(channel, payload, position) ORDER BY position",
            (channels, payloads),
        )

    async def receive_forever(self) -> None:
        """See `FanoutTransport`."""
        connection = self._connection
        assert connection is not None
        while True:
            try:
                async with asyncio.timeout(PING_SECONDS):
                    await self._readable.wait()
            except TimeoutError:
                await self._execute("SELECT 1")
                continue
            self._readable.clear()
            async with self._lock:
                try:
                    connection.pgconn.consume_input()
                except psycopg.Error as error:
                    raise TransportLost(_describe(error)) from error
                while (notice := connection.pgconn.notifies()) is not None:
                    self._pass(notice.extra)

    async def close(self) -> None:
        """See `FanoutTransport`."""
        connection, self._connection = self._connection, None
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        if connection is not None:
            with suppress(psycopg.Error, OSError):
                await connection.close()

    def _bucket(self, session_id: str) -> str:
        digest = sha256(session_id.encode("utf-8", "surrogatepass")).digest()
        return f"{self._prefix}_{digest[0] % BUCKETS}"

    def _handle(self, notice: psycopg.Notify) -> None:
        self._pass(notice.payload.encode())

    def _pass(self, payload: bytes) -> None:
        assert self._receive is not None
        self._receive(payload)

    async def _execute(self, statement: LiteralString | sql.Composed, parameters: Sequence[object] = ()) -> None:
        connection = self._connection
        assert connection is not None
        try:
            async with self._lock, asyncio.timeout(SERVER_TIMEOUT_SECONDS):
                await connection.execute(statement, parameters or None)
        except TimeoutError:
            raise TransportLost("the server does not answer") from None
        except (psycopg.Error, OSError) as error:
            raise TransportLost(_describe(error)) from error
        self._readable.set()  # what arrived with the answer may wait in the connection


def _describe(error: BaseException) -> str:
    return " ".join(redact(str(error)).split()) or type(error).__name__
