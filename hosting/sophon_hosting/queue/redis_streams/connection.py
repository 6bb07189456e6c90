"""Connection to a Redis or Valkey server: scripts by their digests, and errors of the library as QueueUnavailable."""

import asyncio
from collections.abc import Coroutine
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SettingsError
from sophon.security import hide_url_secrets, redact
from sophon_hosting.queue.errors import QueueUnavailable

SERVER_TIMEOUT_SECONDS = 5.0
"""Time within which the server must answer; a blocking read ends earlier."""

MAX_CONNECTIONS = 16
"""Connections of a process; one of them is for its blocking read."""

CLOSE_SECONDS = 1.5
"""Time that `close` gives requests, longer than a blocking read."""

_FOLDER = Path(__file__).parent / "lua"


class RedisConnection:
    """One pool of connections for a queue of this name. Nothing is sent twice: its reply may have been lost alone."""

    def __init__(self, url: str, name: str) -> None:
        """Raises SettingsError for a URL that is none of Redis."""
        self.name = hide_url_secrets(url)
        self._prefix = f"{{{name}}}:queue:"
        self._stream = self._prefix + "work"
        self._requests: set[asyncio.Task[Any]] = set()
        try:
            # One that waits for a free connection: the usual one refuses what is too much at once.
            pools: Any = BlockingConnectionPool  # redis-py's own types are partly unknown
            pool = pools.from_url(
                url,
                max_connections=MAX_CONNECTIONS,
                timeout=SERVER_TIMEOUT_SECONDS,
                socket_timeout=SERVER_TIMEOUT_SECONDS,
                socket_connect_timeout=SERVER_TIMEOUT_SECONDS,
                retry=Retry(NoBackoff(), 0),
                decode_responses=True,
                protocol=2,
            )
            pool.connection_class = _without_send_timeout(pool.connection_class)
            self._redis: Any = Redis.from_pool(pool)
        except ValueError as error:
            raise SettingsError([f"Queue.Url: {redact(str(error))}"]) from None

    async def close(self) -> None:
        """Close all connections, after what is under way has ended or its time is over."""
        if self._requests:
            await asyncio.wait(self._requests, timeout=CLOSE_SECONDS)
        await self._redis.aclose()

    async def ping(self) -> None:
        """Ask the server whether it is there. Raises QueueUnavailable."""
        await self._answer(self._redis.ping())

    async def run(self, script: str, *arguments: str | int | float) -> Any:
        """Run a script and return its reply. Raises QueueUnavailable."""
        loaded = load_script(script)
        parts = (1, self._stream, self._prefix, *arguments)
        try:
            return await self._answer(self._redis.evalsha(loaded.digest, *parts))
        except NoScriptError:  # the server is a new one
            return await self._answer(self._redis.eval(loaded.text, *parts))

    async def read_permit(self, consumer: str, block_ms: int) -> str | None:
        """Wait for a permit of the stream, for so many milliseconds, and return its id. Raises QueueUnavailable."""
        try:
            found = await self._answer(
                self._redis.xreadgroup("workers", consumer, {self._stream: ">"}, count=1, block=max(block_ms, 1))
            )
        except _NoGroup:
            return None  # the next script makes it
        return found[0][1][0][0] if found else None

    async def _answer(self, request: Coroutine[Any, Any, Any]) -> Any:
        # The library takes some cancellations for errors of its connection, and goes on: it is never cancelled.
        task = asyncio.create_task(request)
        self._requests.add(task)
        task.add_done_callback(self._end_request)
        try:
            return await asyncio.shield(task)
        except NoScriptError:
            raise
        except ResponseError as error:
            if str(error).startswith(("NOGROUP", "UNBLOCKED")):
                raise _NoGroup from None
            raise QueueUnavailable(self.name, redact(str(error))) from error
        except (RedisError, OSError) as error:
            raise QueueUnavailable(self.name, redact(str(error)) or type(error).__name__) from error

    def _end_request(self, task: "asyncio.Task[Any]") -> None:
        self._requests.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be there any more to hear of it


@cache
def _without_send_timeout(connection_class: Any) -> Any:
    """Return a class of connections that limit the time of an answer, not that of sending.

    redis-py sends in a task of its own to limit its time, which is a fifth of what a request costs. A request fits the
    buffer of the connection, so that sending it does not wait.
    """

    async def send_packed_command(self: Any, command: Any, check_health: bool = True) -> None:
        if not self.is_connected:  # then it waits for answers, too
            await connection_class.send_packed_command(self, command, check_health)
            return
        seconds, self.socket_timeout = self.socket_timeout, None
        try:
            await connection_class.send_packed_command(self, command, check_health)
        finally:
            self.socket_timeout = seconds

    return type("RequestConnection", (connection_class,), {"send_packed_command": send_packed_command})


class _NoGroup(Exception):
    """The stream or its group is not there."""


@dataclass(frozen=True, slots=True)
class Script:
    """Script with the name under which the server keeps it."""

    text: str
    digest: str


@cache
def load_script(name: str) -> Script:
    """Load a script, with the state's functions before it."""
    text = "\n".join((_FOLDER / f"{each}.lua").read_text(encoding="utf-8") for each in ("state", name))
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())
