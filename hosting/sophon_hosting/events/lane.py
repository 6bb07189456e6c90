"""Sequencer: number, store and publish the events of one session in order of emission."""

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
"""Number of newest events stored per session; older content remains in its messages and tasks."""

TRIM_EVERY = 500
"""Number of stored events between two trims of the log."""

TOGETHER_SECONDS = 0.03
"""Chunks within this time after the last published one are merged. Source: reference/performance.md."""


class Lane:
    """Sequencer of one session: the holder of `turnstile` stores and publishes events, so that none overtakes another.

    `outlet` receives every event after it was stored. `wake` is called when events are pending and must be flushed.
    """

    def __init__(self, session_id: str, events: EventLog, outlet: EventSink, wake: Callable[[], None]) -> None:
        self._session_id, self._log, self._global_sink, self._wake = session_id, events, outlet, wake
        self._timer: asyncio.TimerHandle | None = None
        self._merge_until = 0.0
        self._pending: deque[Event] = deque()
        self._since_trim = 0
        self.turnstile = asyncio.Lock()
        self.listeners: list[Listener] = []
        self.told = Told()
        self.replies = Replies()
        self.work: asyncio.Task[None] | None = None
        self.users = 0
        """Number of tasks that hold `turnstile` or wait for it."""

    @property
    def waits(self) -> bool:
        """Whether events are pending."""
        return bool(self._pending)

    @property
    def idle(self) -> bool:
        """Whether the sequencer has no state and can be discarded."""
        return not (self._pending or self.listeners or self.users or len(self.told) or len(self.replies))

    def push(self, event: Event) -> None:
        """Accept an event.

        A transient event with no pending ones before it is published at once; chunks may be merged first.
        """
        if not self.told.is_news(event) or self._merge_chunk(event):
            return
        if event.durable or self._pending or self.turnstile.locked():
            self._pending.append(event)
            self._cancel_timer()
            self._wake()
        elif not (isinstance(event, StreamChunk) and self._delay_chunk(event)):
            self.tell(event)

    async def write(self) -> None:
        """Store and publish the pending events; the caller must hold `turnstile`.

        Raises StoreError, and the events stay pending; NotFound if the session was deleted.
        """
        self._cancel_timer()
        while self._pending:
            count = len(self._pending)
            durable = [event for event in self._pending if event.durable]
            if durable:
                last = await self._log.append(self._session_id, [row_of(event) for event in durable])
                self._assign_seqs(durable, last)
            for _ in range(count):
                self.tell(self._pending.popleft())
        await self._trim()

    def numbered(self, events: Sequence[Event], last: int) -> None:
        """Publish events that were stored elsewhere; `last` is the seq of the last one."""
        self._assign_seqs(events, last)
        for event in events:
            self.tell(event)

    def tell(self, event: Event) -> None:
        """Pass the event to all listeners in order; a failing listener is logged and skipped."""
        self.replies.hear(event)
        if event.wire_name in LAST:
            self.replies.end(event.task_id)
            self.told.forget(event.task_id)
        try:
            self._global_sink.emit(event)
        except Exception:
            log.exception("a listener failed on %s", event.wire_name)
        if not self.listeners:
            return
        wire_event = frame_of(event)
        for listener in list(self.listeners):
            try:
                listener(wire_event)
            except Exception:
                log.exception("a listener failed on %s", event.wire_name)

    def drop(self) -> None:
        """Discard all state after the session was deleted."""
        self._pending.clear()
        self.told = Told()
        self.replies = Replies()

    def _assign_seqs(self, events: Sequence[Event], last: int) -> None:
        for seq, event in enumerate(events, start=last - len(events) + 1):
            event.seq = seq
        self._since_trim += len(events)

    def _delay_chunk(self, chunk: StreamChunk) -> bool:
        """Delay a chunk to merge it with later ones, unless it is the first in a while. Return whether it waits."""
        loop = asyncio.get_running_loop()
        remaining_seconds = self._merge_until - loop.time()
        if not self.listeners or remaining_seconds <= 0:
            self._merge_until = loop.time() + TOGETHER_SECONDS
            return False
        self._pending.append(chunk)
        self._timer = loop.call_later(remaining_seconds, self._publish_delayed)
        return True

    def _publish_delayed(self) -> None:
        self._timer = None
        self._merge_until = asyncio.get_running_loop().time() + TOGETHER_SECONDS
        if self.turnstile.locked():
            self._wake()
        elif self._pending:
            self.tell(self._pending.popleft())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _merge_chunk(self, event: Event) -> bool:
        """Merge a chunk into a pending one, so that chunks do not accumulate while the store is slow."""
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
