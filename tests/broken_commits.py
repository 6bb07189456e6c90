"""A relay in front of PostgreSQL that breaks the connection at a COMMIT, before or after the server receives it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy.engine import make_url

COMMIT = b"COMMIT\0"
"""Part of the message with which psycopg ends a transaction (and not of READ COMMITTED)."""


@dataclass
class CommitBreaker:
    """Relay on loopback; `break_next` breaks one commit, `is_down` refuses new connections."""

    server_host: str
    server_port: int
    port: int = 0
    is_down: bool = False
    broken: int = 0
    _when: Literal["before", "after"] | None = None
    _stays_down: bool = False
    _tasks: set[asyncio.Task[None]] = field(default_factory=lambda: set())
    _writers: set[asyncio.StreamWriter] = field(default_factory=lambda: set())

    def break_next(self, when: Literal["before", "after"], *, stays_down: bool = False) -> None:
        """Break the connection of the next commit before or after the server executes it; then refuse others."""
        self._when, self._stays_down = when, stays_down

    async def serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        if self.is_down:
            answers.transport.abort()
            return
        server, requests = await asyncio.open_connection(self.server_host, self.server_port)
        self._writers |= {answers, requests}
        back = asyncio.create_task(self._copy(server, answers))
        self._tasks.add(back)
        try:
            while data := await client.read(65536):
                if self._when is not None and COMMIT in data:
                    when, self._when, self.is_down = self._when, None, self._stays_down
                    back.cancel()
                    await asyncio.wait({back})
                    if when == "after":
                        requests.write(data)
                        await server.read(65536)  # its answer, after it has committed
                    self.broken += 1
                    return
                requests.write(data)
        except ConnectionError:
            return
        finally:
            back.cancel()
            requests.transport.abort()
            answers.transport.abort()

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                target.write(data)
            target.close()
        except ConnectionError:
            target.close()

    def abort(self) -> None:
        """Break all connections."""
        for each in self._writers:
            each.transport.abort()


@asynccontextmanager
async def breaking_commits(url: str) -> AsyncGenerator[tuple[CommitBreaker, str]]:
    """Yield a relay and the URL of the database behind it."""
    parsed = make_url(url)
    breaker = CommitBreaker(parsed.host or "127.0.0.1", parsed.port or 5432)
    server = await asyncio.start_server(breaker.serve, "127.0.0.1", 0)
    breaker.port = server.sockets[0].getsockname()[1]
    through = parsed.set(host="127.0.0.1", port=breaker.port).update_query_dict({"sslmode": "disable"})
    try:
        yield breaker, through.render_as_string(hide_password=False)
    finally:
        server.close()
        breaker.abort()
