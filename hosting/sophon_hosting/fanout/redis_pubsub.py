"""Redis transport: pub/sub with a channel per watched session, one for all hosts, and a pattern for all sessions."""

import asyncio
from collections.abc import Sequence, Set
from contextlib import suppress
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from sophon.errors import SettingsError
from sophon.security import hide_url_secrets, redact
from sophon_hosting.fanout.fanout_transport import Receive, TransportLost, Watching

MAX_PAYLOAD_BYTES = 256 * 1024
"""Redis cuts off who does not read 8 MB in a minute (client-output-buffer-limit)."""

PING_SECONDS = 10.0
SERVER_TIMEOUT_SECONDS = 5.0
"""Time without a message after which the server is asked whether it is there, and how long it may take to answer."""

MAX_CHANNELS_AT_ONCE = 500


class RedisTransport:
    """Redis pub/sub, which keeps nothing: who is not there does not get it."""

    max_payload_bytes = MAX_PAYLOAD_BYTES

    def __init__(self, url: str, prefix: str) -> None:
        """Raises SettingsError for a URL that is none of Redis."""
        self.name = hide_url_secrets(url)
        self._all_hosts = f"{prefix}:fanout:hosts"
        self._session_prefix = f"{prefix}:fanout:session:"
        try:
            client: Any = Redis
            self._redis: Any = client.from_url(
                url,
                socket_timeout=SERVER_TIMEOUT_SECONDS,
                socket_connect_timeout=SERVER_TIMEOUT_SECONDS,
                retry=Retry(NoBackoff(), 0),
                decode_responses=False,
            )
        except ValueError as error:
            raise SettingsError([f"Hub.FanoutUrl or Queue.Url: {redact(str(error))}"]) from None
        self._pubsub: Any = None  # redis-py's own types are partly unknown
        self._watched: set[str] = set()
        self._watches_all = False
        self._receives_all = False
        self._receive: Receive | None = None
        self._on_watching: Watching | None = None

    async def open(self, receive: Receive, on_watching: Watching) -> None:
        """See `FanoutTransport`."""
        self._receive, self._on_watching = receive, on_watching
        self._watched, self._watches_all, self._receives_all = set(), False, False
        self._pubsub = self._redis.pubsub()
        await self._execute(self._pubsub.subscribe(self._all_hosts))

    async def watch(self, sessions: Set[str], *, all_sessions: bool) -> None:
        """See `FanoutTransport`."""
        assert self._pubsub is not None
        added, removed = sessions - self._watched, self._watched - sessions
        for command, ids in ((self._pubsub.subscribe, added), (self._pubsub.unsubscribe, removed)):
            channels = [self._session_prefix + each for each in ids]
            for start in range(0, len(channels), MAX_CHANNELS_AT_ONCE):
                await self._execute(command(*channels[start : start + MAX_CHANNELS_AT_ONCE]))
        if all_sessions != self._watches_all:
            pattern = _escape(self._session_prefix) + "*"
            await self._execute((self._pubsub.psubscribe if all_sessions else self._pubsub.punsubscribe)(pattern))
        self._watched, self._watches_all = set(sessions), all_sessions

    async def send(self, frames: Sequence[tuple[str | None, bytes]]) -> None:
        """See `FanoutTransport`."""
        pipeline = self._redis.pipeline(transaction=False)
        for topic, payload in frames:
            pipeline.publish(self._all_hosts if topic is None else self._session_prefix + topic, payload)
        await self._execute(pipeline.execute())

    async def receive_forever(self) -> None:
        """See `FanoutTransport`."""
        assert self._pubsub is not None
        is_asked = False
        while True:
            seconds = SERVER_TIMEOUT_SECONDS if is_asked else PING_SECONDS
            message = await self._execute(self._pubsub.get_message(timeout=seconds))
            if message is not None:
                is_asked = False
                self._handle(message)
            elif is_asked:
                raise TransportLost("the server does not answer")
            else:
                await self._execute(self._pubsub.ping())
                is_asked = True

    async def close(self) -> None:
        """See `FanoutTransport`."""
        if self._pubsub is not None:
            with suppress(RedisError, OSError, RuntimeError):
                await self._pubsub.aclose()
            self._pubsub = None
        with suppress(RedisError, OSError, RuntimeError):
            await self._redis.aclose()

    def _handle(self, message: dict[str, Any]) -> None:
        kind, channel = message["type"], (message["channel"] or b"").decode(errors="replace")
        assert self._receive is not None
        assert self._on_watching is not None
        if kind == "subscribe" and channel.startswith(self._session_prefix):
            self._on_watching(channel.removeprefix(self._session_prefix))
        elif kind in ("psubscribe", "punsubscribe"):
            self._receives_all = kind == "psubscribe"
        elif kind == "pmessage" or (kind == "message" and not (self._receives_all and channel != self._all_hosts)):
            # With the pattern, the frames of watched sessions come twice.
            self._receive(message["data"])

    @staticmethod
    async def _execute(command: Any) -> Any:
        try:
            return await command
        except (RedisError, OSError, asyncio.IncompleteReadError) as error:
            raise TransportLost(redact(str(error)) or type(error).__name__) from error


def _escape(text: str) -> str:
    return "".join(f"\\{each}" if each in "*?[]\\" else each for each in text)
