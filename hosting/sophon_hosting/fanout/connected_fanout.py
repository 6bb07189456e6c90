"""Connected fan-out: messages of the host are buffered and sent by a task, which connects again after each loss."""

import asyncio
import logging
import secrets
from collections import deque
from contextlib import suppress

from sophon._python.rate_limited_log import RateLimitedLog
from sophon_hosting.fanout.contract import FanoutListener
from sophon_hosting.fanout.fanout_transport import FanoutTransport, TransportLost
from sophon_hosting.fanout.host_messages import (
    HintsLost,
    HostMessage,
    UnreadableFrame,
    WatchStarted,
    WireMessage,
    decode_frame,
    encode_frame,
    encode_message,
    frame_overhead,
    split_message,
    topic_of,
)
from sophon_hosting.fanout.local_fanout import FanoutListeners

log = logging.getLogger("sophon")

INITIAL_BACKOFF_SECONDS = 0.1

MAX_BACKOFF_SECONDS = 5.0
"""Back-off between two attempts to connect."""

CLOSE_SECONDS = 1.0
"""How long `close` waits for what is still to be sent."""

MAX_MESSAGES = 10_000

MAX_BYTES = 16 * 1024 * 1024
"""Number and size of the messages that wait for the server."""

MAX_FRAMES_AT_ONCE = 200


class ConnectedFanout:
    """Fan-out over a server. While the server is away, messages wait in a bounded buffer, and none arrive."""

    reaches_others = True

    def __init__(self, transport: FanoutTransport) -> None:
        self._transport = transport
        self._host_id = secrets.token_hex(8)
        self._listeners = FanoutListeners()
        self._outgoing = OutgoingMessages(self._host_id, transport.max_payload_bytes)
        self._log = RateLimitedLog(log)
        self._work = asyncio.Event()
        """Set while messages are to be sent, or what is watched has changed."""
        self._is_watch_changed = True
        self._watched: frozenset[str] = frozenset()
        self._wanted_again: set[str] = set()
        """Sessions that somebody has begun to watch since the transport was told; they may be watched already."""
        self._is_sent = asyncio.Event()
        """Set while no messages wait."""
        self._is_sent.set()
        self._task: asyncio.Task[None] | None = None
        self.is_connected = False

    @property
    def server(self) -> str:
        """The server's name for messages, without secrets."""
        return self._transport.name

    async def open(self) -> None:
        """Connect in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._run_forever())

    async def close(self) -> None:
        """Send what waits, for a second at most, and disconnect."""
        task, self._task = self._task, None
        if task is None:
            return
        if self.is_connected:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._is_sent.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def publish(self, message: WireMessage) -> None:
        """See `HostFanout`."""
        try:
            dropped = self._outgoing.add(message)
        except Exception:  # hints are never worth the failure of who gives them
            log.exception("a message %s to the other hosts could not be encoded", type(message).__name__)
            return
        if dropped:
            self._log.warning("dropped", "%d messages to the other hosts were dropped: too many or too large", dropped)
        self._is_sent.clear()
        self._work.set()

    def subscribe(self, listener: FanoutListener) -> None:
        """See `HostFanout`."""
        self._listeners.add(listener)

    def unsubscribe(self, listener: FanoutListener) -> None:
        """See `HostFanout`."""
        self._listeners.remove(listener)

    def watch_session(self, session_id: str) -> None:
        """See `HostFanout`."""
        self._listeners.sessions.add(session_id)
        self._wanted_again.add(session_id)
        self._change_watch()

    def unwatch_session(self, session_id: str) -> None:
        """See `HostFanout`."""
        self._listeners.sessions.discard(session_id)
        self._change_watch()

    def watch_all_sessions(self, wanted: bool, /) -> None:
        """See `HostFanout`."""
        self._listeners.wants_all = wanted
        self._change_watch()

    def _change_watch(self) -> None:
        self._is_watch_changed = True
        self._work.set()

    async def _run_forever(self) -> None:
        backoff_seconds, was_connected, is_reported = INITIAL_BACKOFF_SECONDS, False, False
        while True:
            try:
                await self._connect()
                if is_reported:
                    log.info("messages between hosts go over %s again", self._transport.name)
                if was_connected or is_reported:
                    self._listeners.tell(HintsLost())
                backoff_seconds, was_connected, is_reported = INITIAL_BACKOFF_SECONDS, True, False
                await self._pass_on()
            except TransportLost as error:
                if not is_reported:
                    is_reported = self._log.warning(
                        "lost",
                        "messages between hosts are not passed on, so they notice each other's events a few seconds "
                        "later: %s: %s",
                        self._transport.name,
                        error,
                    )
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                if not is_reported:
                    is_reported = self._log.warning(
                        "failed", "passing on messages between hosts failed; connecting again", error=error
                    )
            finally:
                self.is_connected = False
                await self._transport.close()
            await asyncio.sleep(backoff_seconds * (0.5 + secrets.randbelow(1000) / 1000))
            backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)

    async def _connect(self) -> None:
        await self._transport.open(self._receive, self._on_watching)
        self._watched = frozenset()
        await self._update_watch()
        self.is_connected = True

    async def _update_watch(self) -> None:
        self._is_watch_changed = False
        again, self._wanted_again = self._wanted_again & self._watched, set()
        sessions = frozenset(self._listeners.sessions)
        await self._transport.watch(sessions, all_sessions=self._listeners.wants_all)
        self._watched = sessions
        for session_id in again:  # of which the transport says nothing, for it has not changed
            self._on_watching(session_id)

    async def _pass_on(self) -> None:
        """Send and receive until the connection is lost."""
        both = {
            asyncio.ensure_future(self._transport.receive_forever()),
            asyncio.ensure_future(self._send_forever()),
        }
        try:
            ended, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _send_forever(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            if self._is_watch_changed:
                await self._update_watch()
            while frames := self._outgoing.take_frames():
                await self._transport.send(frames)
            self._is_sent.set()

    def _receive(self, payload: bytes) -> None:
        try:
            frame = decode_frame(payload)
        except UnreadableFrame as error:
            self._log.warning("garbage", "ignored a message between hosts that is none of a host: %s", error)
            return
        if frame is None or frame.host_id == self._host_id:
            return
        for message in frame.messages:
            if self._listeners.wants(message):
                self._listeners.tell(message)

    def _on_watching(self, session_id: str) -> None:
        self._listeners.tell(WatchStarted(session_id))


class OutgoingMessages:
    """FIFO buffer of encoded messages, which leaves it as frames of messages to the same topic."""

    def __init__(self, host_id: str, max_payload_bytes: int) -> None:
        self._host_id = host_id
        self._max_payload_bytes = max_payload_bytes
        self._max_message_bytes = max_payload_bytes - frame_overhead(host_id)
        self._messages: deque[tuple[str | None, bytes]] = deque()
        self._bytes = 0

    def add(self, message: HostMessage) -> int:
        """Add a message; return how many messages were dropped, this one included if it is too large."""
        topic = topic_of(message)
        pieces = split_message(message, self._max_message_bytes)
        for piece in pieces:
            encoded = encode_message(piece)
            self._messages.append((topic, encoded))
            self._bytes += len(encoded)
        dropped = 0 if pieces else 1
        while len(self._messages) > MAX_MESSAGES or self._bytes > MAX_BYTES:
            self._bytes -= len(self._messages.popleft()[1])
            dropped += 1
        return dropped

    def take_frames(self) -> list[tuple[str | None, bytes]]:
        """Remove the oldest messages and return them as topics and frames, in order within each topic.

        Messages to one topic share frames, so a burst costs the server and the other hosts little. A message to all
        hosts never overtakes an earlier one of a session, nor the other way round.
        """
        frames: list[tuple[str | None, bytes]] = []
        open_frames: dict[str | None, list[bytes]] = {}
        sizes: dict[str | None, int] = {}

        def close(topic: str | None) -> None:
            frames.append((topic, encode_frame(self._host_id, open_frames.pop(topic))))
            del sizes[topic]

        while self._messages and len(frames) + len(open_frames) < MAX_FRAMES_AT_ONCE:
            topic, encoded = self._messages.popleft()
            self._bytes -= len(encoded)
            for other in [each for each in open_frames if (each is None) != (topic is None)]:
                close(other)
            size = sizes.get(topic, frame_overhead(self._host_id)) + len(encoded) + 1
            if topic in open_frames and size > self._max_payload_bytes:
                close(topic)
                size = frame_overhead(self._host_id) + len(encoded) + 1
            open_frames.setdefault(topic, []).append(encoded)
            sizes[topic] = size
        for topic in list(open_frames):
            close(topic)
        return frames

    def __len__(self) -> int:
        return len(self._messages)
