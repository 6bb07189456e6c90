"""The events of one session on their way: numbered and kept in the order in which they came, then told."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence

from sophon.events import Event, EventSink, StreamChunk
from sophon.stores.event_contracts import EventLog
from sophon_hosting.events.frame import Listener, frame_of, row_of
from sophon_hosting.events.once import LAST, Told
from sophon_hosting.events.replies import Replies

log = logging.getLogger("sophon")

KEPT_EVENTS = 5000
"""Of a session, the newest; what is older is in its messages and its tasks."""

TRIM_EVERY = 500

TOGETHER_SECONDS = 0.03
"""Chunks that come within this time of the last one that was told are told as one. Source: reference/performance.md."""


class Lane:
    """Who holds `turnstile` writes and tells; nothing overtakes. `outlet` hears every event, after it was kept.

    `wake` is called when something waits that nobody works on.
    """

    def __init__(self, session_id: str, events: EventLog, outlet: EventSink, wake: Callable[[], None]) -> None:
        self._session_id, self._log, self._outlet, self._wake = session_id, events, outlet, wake
        self._timer: asyncio.TimerHandle | None = None
        self._together_until = 0.0
        self._pending: deque[Event] = deque()
        self._since_trim = 0
        self.turnstile = asyncio.Lock()
        self.listeners: list[Listener] = []
        self.told = Told()
        self.replies = Replies()
        self.work: asyncio.Task[None] | None = None
        self.users = 0
        """How many hold the turnstile, or wait for it."""

    @property
    def waits(self) -> bool:
        """Whether something has not been told yet."""
        return bool(self._pending)

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost with it."""
        return not (self._pending or self.listeners or self.users or len(self.told) or len(self.replies))

    def push(self, event: Event) -> None:
        """Take an event.

        What need not be kept, and has nothing in front of it, is told at once; a chunk, soon after.
        """
        if not self.told.is_news(event) or self._merged(event):
            return
        if event.durable or self._pending or self.turnstile.locked():
            self._pending.append(event)
            self._cancel_timer()
            self._wake()
        elif not (isinstance(event, StreamChunk) and self._gathers(event)):
            self.tell(event)

    async def write(self) -> None:
        """Keep and tell what waits; the turnstile is held. What the store does not take goes on waiting: StoreError.

        NotFound when the session is gone: then what waited is, too.
        """
        self._cancel_timer()
        while self._pending:
            count = len(self._pending)
            durable = [event for event in self._pending if event.durable]
            if durable:
                last = await self._log.append(self._session_id, [row_of(event) for event in durable])
                self._number(durable, last)
            for _ in range(count):
                self.tell(self._pending.popleft())
        await self._trim()

    def numbered(self, events: Sequence[Event], last: int) -> None:
        """Tell events that somebody else has kept, the last of which has the number `last`."""
        self._number(events, last)
        for event in events:
            self.tell(event)

    def tell(self, event: Event) -> None:
        """To everybody, in order; a broken listener breaks nothing."""
        self.replies.hear(event)
        if event.wire_name in LAST:
            self.replies.end(event.task_id)
            self.told.forget(event.task_id)
        try:
            self._outlet.emit(event)
        except Exception:
            log.exception("a listener failed on %s", event.wire_name)
        if not self.listeners:
            return
        frame = frame_of(event)
        for listener in list(self.listeners):
            try:
                listener(frame)
            except Exception:
                log.exception("a listener failed on %s", event.wire_name)

    def drop(self) -> None:
        """The session is gone."""
        self._pending.clear()
        self.told = Told()
        self.replies = Replies()

    def _number(self, events: Sequence[Event], last: int) -> None:
        for seq, event in enumerate(events, start=last - len(events) + 1):
            event.seq = seq
        self._since_trim += len(events)

    def _gathers(self, chunk: StreamChunk) -> bool:
        """Whether it waits for those that follow. The first chunk after a while does not."""
        loop = asyncio.get_running_loop()
        left = self._together_until - loop.time()
        if not self.listeners or left <= 0:
            self._together_until = loop.time() + TOGETHER_SECONDS
            return False
        self._pending.append(chunk)
        self._timer = loop.call_later(left, self._time_is_up)
        return True

    def _time_is_up(self) -> None:
        self._timer = None
        self._together_until = asyncio.get_running_loop().time() + TOGETHER_SECONDS
        if self.turnstile.locked():
            self._wake()
        elif self._pending:
            self.tell(self._pending.popleft())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _merged(self, event: Event) -> bool:
        """A chunk that waits takes in the one that follows: while the store is slow they do not pile up."""
        last = self._pending[-1] if self._pending else None
        if not (isinstance(event, StreamChunk) and isinstance(last, StreamChunk)):
            return False
        if (event.task_id, event.run_id, event.epoch) != (last.task_id, last.run_id, last.epoch):
            return False
        last.text += event.text
        return True

    async def _trim(self) -> None:
        if self._since_trim >= TRIM_EVERY:
            self._since_trim = 0
            await self._log.trim(self._session_id, KEPT_EVENTS)
