"""Event bus of a host: durable events are numbered per session and stored before they are published."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.events import Event, EventSink, Silence
from sophon.stores.event_contracts import EventLog, LoggedEvent
from sophon.stores.run_contracts import Finished, Run
from sophon_hosting.events.frame import Listener, frame_of, row_of
from sophon_hosting.events.lane import Lane
from sophon_hosting.events.replay import Joined, missed

log = logging.getLogger("sophon")

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
"""Back-off between two attempts to store events."""

Write = Callable[[Callable[[int], Sequence[LoggedEvent]]], Awaitable[Finished]]
"""Stores the outcome of a run with its last events, which it builds from the seq of the session's last record."""


class EventFeed:
    """Event sink of a host, with one sequencer per session.

    All listeners of a session receive the same events in the same order: by `seq`, with transient events (chunks)
    between them in order of emission. If the store refuses an event, storing is retried with back-off and later events
    of the session wait. `outlet` receives the events of all sessions.
    """

    def __init__(self, events: EventLog, clock: Clock, outlet: EventSink | None = None) -> None:
        self._log, self._clock = events, clock
        self._global_sink = outlet or Silence()
        self._lanes: dict[str, Lane] = {}
        self._watchers: list[Listener] = []

    def emit(self, event: Event, /) -> None:
        """Accept an event of a session; never blocks."""
        self._get_or_create_sequencer(event.session_id).push(event)

    def watch(self, listener: Listener) -> None:
        """Subscribe a listener to the events of all sessions."""
        self._watchers.append(listener)

    def unwatch(self, listener: Listener) -> None:
        """Undo `watch`."""
        self._watchers.remove(listener)

    async def join(self, session_id: str, last_seq: int, listener: Listener) -> Joined:
        """Return the events after `last_seq` and subscribe to all later ones, without gaps or duplicates.

        A listener that joins again is subscribed once.
        """
        async with self._turn(session_id) as sequencer:
            joined = await missed(self._log, session_id, last_seq)
            if listener not in sequencer.listeners:
                sequencer.listeners.append(listener)
            return Joined(joined.seq, [*joined.events, *sequencer.replies.frames(session_id)], joined.partial)

    async def listen(self, session_id: str, listener: Listener) -> None:
        """Subscribe to later events of a session, until `leave`. Idempotent."""
        async with self._turn(session_id) as sequencer:
            if listener not in sequencer.listeners:
                sequencer.listeners.append(listener)

    def leave(self, session_id: str, listener: Listener) -> None:
        """Unsubscribe a listener from a session."""
        sequencer = self._lanes.get(session_id)
        if sequencer is not None and listener in sequencer.listeners:
            sequencer.listeners.remove(listener)
            self._discard(session_id, sequencer)

    async def conclude(self, session_id: str, events: Callable[[int], Sequence[Event]], write: Write) -> Finished:
        """Store pending events, let `write` store a run's outcome with its last events, then publish these.

        `events` builds the last events from the seq of the session's last record. Nothing is published if the run
        already had an outcome. Raises the errors of the store.
        """
        last_events: list[Event] = []

        def build_rows(last_record_seq: int) -> list[LoggedEvent]:
            last_events[:] = events(last_record_seq)
            return [row_of(event) for event in last_events]

        async with self._turn(session_id) as sequencer:
            await sequencer.write()
            finished = await write(build_rows)
            if finished.first:
                sequencer.numbered(last_events, finished.seq)
            return finished

    async def recall(self, run: Run) -> None:
        """Load the stored events of a run of a previous process for de-duplication. Raises StoreError."""
        async with self._turn(run.session_id) as sequencer:
            await sequencer.write()
            after = 0
            while rows := await self._log.after(run.session_id, after):
                sequencer.told.recall(row for row in rows if row.task_id == run.id)
                after = rows[-1].seq

    def has_told(self, run: Run, name: str) -> bool:
        """Return whether a recalled or local run has emitted an event of that name."""
        sequencer = self._lanes.get(run.session_id)
        return sequencer is not None and sequencer.told.has_told(run.id, name)

    async def flush(self, session_id: str) -> None:
        """Wait until all emitted events of a session are stored and published. Raises StoreError, NotFound."""
        async with self._turn(session_id) as sequencer:
            await sequencer.write()

    async def aclose(self) -> None:
        """Flush all sessions once; events that the store refuses are logged and dropped."""
        for session_id in list(self._lanes):
            try:
                await self.flush(session_id)
            except Exception:
                log.exception("events of session %s could not be stored", session_id)
        for sequencer in self._lanes.values():
            if sequencer.work is not None:
                sequencer.work.cancel()
                with suppress(asyncio.CancelledError):
                    await sequencer.work

    def __len__(self) -> int:
        """Return the number of sessions with a sequencer."""
        return len(self._lanes)

    def _get_or_create_sequencer(self, session_id: str) -> Lane:
        sequencer = self._lanes.get(session_id)
        if sequencer is None:
            sink = _BroadcastSink(self._global_sink, self._watchers)
            sequencer = self._lanes[session_id] = Lane(
                session_id, self._log, sink, partial(self._schedule_flush, session_id)
            )
        return sequencer

    def _schedule_flush(self, session_id: str) -> None:
        sequencer = self._lanes[session_id]
        if sequencer.work is None:
            sequencer.work = asyncio.create_task(self._flush_until_empty(session_id, sequencer))

    @asynccontextmanager
    async def _turn(self, session_id: str) -> AsyncGenerator[Lane]:
        sequencer = self._get_or_create_sequencer(session_id)
        sequencer.users += 1
        try:
            async with sequencer.turnstile:
                yield sequencer
        finally:
            sequencer.users -= 1
            self._discard(session_id, sequencer)

    async def _flush_until_empty(self, session_id: str, sequencer: Lane) -> None:
        backoff_seconds = FIRST_PAUSE_SECONDS
        while sequencer.waits:
            try:
                async with self._turn(session_id):
                    await sequencer.write()
                backoff_seconds = FIRST_PAUSE_SECONDS
            except NotFound:
                sequencer.drop()
            except Exception:
                log.exception("storing the events of session %s failed; retrying in %s s", session_id, backoff_seconds)
                await self._clock.sleep(backoff_seconds)
                backoff_seconds = min(backoff_seconds * 2, LONGEST_PAUSE_SECONDS)
        sequencer.work = None
        self._discard(session_id, sequencer)

    def _discard(self, session_id: str, sequencer: Lane) -> None:
        """Delete the sequencer of an idle session."""
        if sequencer.idle and sequencer.work is None and self._lanes.get(session_id) is sequencer:
            del self._lanes[session_id]


class _BroadcastSink:
    """Sink for the events of all sessions: the services' sink and the global listeners."""

    def __init__(self, sink: EventSink, watchers: Sequence[Listener]) -> None:
        self._sink, self._watchers = sink, watchers

    def emit(self, event: Event, /) -> None:
        """Pass the event to the sink and to every global listener."""
        try:
            self._sink.emit(event)
        finally:
            if self._watchers:
                wire_event = frame_of(event)
                for listener in list(self._watchers):
                    listener(wire_event)
