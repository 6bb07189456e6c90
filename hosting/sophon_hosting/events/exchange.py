"""Exchange of events between host processes: tells others what is stored and streamed here, and hears it from them.

What others tell are hints; every two seconds the store is asked where the sessions with listeners are.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import TypeAlias

from sophon.clock import Clock
from sophon.events import Event, McpServerChanged, SessionDeleted, StreamChunk, StreamReset
from sophon.failure_log import log_failure
from sophon.stores.events.contract import LogPosition
from sophon.stores.events.sql import EventLog
from sophon_hosting.events.sequencer import SessionSequencer
from sophon_hosting.events.stream_snapshots import SNAPSHOT_RESET_REASON
from sophon_hosting.fanout.contract import (
    HintsLost,
    HostFanout,
    HostMessage,
    SessionAdvanced,
    SessionRemoved,
    SnapshotWanted,
    StreamedText,
    TransientEvent,
    WatchStarted,
)

log = logging.getLogger("sophon")

POLL_SECONDS = 2.0
"""Interval at which the store is asked for what hints did not tell."""

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off between two attempts to read the store."""

MAX_POSITIONS = 10_000
"""Sessions whose last seq is kept for listeners to all sessions while nothing happens in them."""

MAX_SNAPSHOT_CHARACTERS = 1_000_000
"""Longer texts are not sent to a host that asks for the text so far: its clients get them with the final event."""

FindStart: TypeAlias = Callable[[str], int]
"""Returns the number of the current start of a task that runs here; 0 for another one."""

Acquire: TypeAlias = Callable[[str], AbstractAsyncContextManager[SessionSequencer]]
"""Provides a session's sequencer with its lock held."""


class EventExchange:
    """Exchange of one event bus with those of other processes.

    `sequencers` are those of the bus, `get_or_create` and `acquire` provide one, `before_deletion` is called for a
    session that another process has deleted. `has_listeners_to_all` says whether anybody listens to all sessions.
    """

    def __init__(
        self,
        fanout: HostFanout,
        events: EventLog,
        clock: Clock,
        find_start: FindStart,
        sequencers: Mapping[str, SessionSequencer],
        get_or_create: Callable[[str], SessionSequencer],
        acquire: Acquire,
        before_deletion: Callable[[str], Awaitable[None]],
        has_listeners_to_all: Callable[[], bool],
    ) -> None:
        self._fanout, self._log, self._clock, self._find_start = fanout, events, clock, find_start
        self._sequencers, self._get_or_create, self._acquire = sequencers, get_or_create, acquire
        self._before_deletion = before_deletion
        self._has_listeners_to_all = has_listeners_to_all
        self._positions: OrderedDict[str, int] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._poll_task: asyncio.Task[None] | None = None
        self._is_poll_due = asyncio.Event()
        self._unchecked: set[str] = set()
        """Sessions whose messages arrive since a moment ago; what was told before was not heard."""
        self._ending: set[str] = set()
        """Sessions that another process has deleted, and whose subscriptions are being ended."""
        self._is_closed = False

    def start(self) -> None:
        """Listen to the other hosts, and begin to poll."""
        self._fanout.subscribe(self._receive)
        self._poll_task = asyncio.create_task(self._poll_forever())

    async def aclose(self) -> None:
        """Hear nothing any more."""
        self._is_closed = True
        if self._poll_task is not None:
            self._fanout.unsubscribe(self._receive)
            self._tasks.add(self._poll_task)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def find_position(self, session_id: str) -> LogPosition | None:
        """Return where the log of a session is. Raises StoreError."""
        return (await self._log.find_positions([session_id])).get(session_id)

    def update_watch(self, session_id: str, sequencer: SessionSequencer) -> None:
        """Watch a session as long as anybody here listens to it."""
        elsewhere = sequencer.elsewhere
        if elsewhere is None or elsewhere.is_watched == bool(sequencer.listeners):
            return
        elsewhere.is_watched = bool(sequencer.listeners)
        if elsewhere.is_watched:
            self._fanout.watch_session(session_id)
            return
        self._fanout.unwatch_session(session_id)
        if self._has_listeners_to_all():
            self.keep_position(session_id, elsewhere.published)
        else:
            elsewhere.end()

    def watch_all_sessions(self) -> None:
        """Watch all sessions as long as anybody here listens to them."""
        self._fanout.watch_all_sessions(self._has_listeners_to_all())
        if not self._has_listeners_to_all():
            self._positions.clear()
            for sequencer in self._sequencers.values():
                if not sequencer.listeners and sequencer.elsewhere is not None:
                    sequencer.elsewhere.end()

    def keep_position(self, session_id: str, seq: int | None) -> None:
        """Keep the last seq of a session for listeners to all sessions."""
        if seq is not None and self._has_listeners_to_all():
            self._positions[session_id] = seq
            self._positions.move_to_end(session_id)
            if len(self._positions) > MAX_POSITIONS:
                self._positions.popitem(last=False)

    def find_kept_position(self, session_id: str) -> int | None:
        """Return the seq that was kept."""
        return self._positions.get(session_id)

    def tell_stored(self, session_id: str, seq: int, count: int) -> None:
        """Tell that this process has stored events."""
        self._fanout.publish(SessionAdvanced(session_id, seq, count))

    def tell_removed(self, session_id: str) -> None:
        """Tell that this process has deleted a session."""
        self._fanout.publish(SessionRemoved(session_id))

    def look_again(self, session_id: str) -> None:
        """Ask the store soon where a session is."""
        self._unchecked.add(session_id)
        self._is_poll_due.set()

    def find_start(self, event: Event) -> int:
        """Return the start of the run that an event belongs to."""
        return self._find_start(event.task_id) if event.task_id else 0

    def tell_streamed(self, event: Event, start: int, after_seq: int) -> None:
        """Tell of an event that is not stored. What concerns this process only is not told."""
        if isinstance(event, SessionDeleted | McpServerChanged):
            return
        if isinstance(event, StreamChunk):
            self._fanout.publish(
                StreamedText(
                    event.session_id,
                    event.task_id,
                    event.run_id,
                    start,
                    event.epoch,
                    event.offset,
                    event.text,
                    after_seq,
                )
            )
            return
        data = event.to_wire()
        self._fanout.publish(TransientEvent(event.session_id, event.task_id, start, event.wire_name, data, after_seq))

    def want_snapshot(self, session_id: str) -> None:
        """Ask for the text so far of what other processes stream."""
        self._fanout.publish(SnapshotWanted(session_id))

    def _receive(self, message: HostMessage) -> None:
        match message:
            case SessionAdvanced() | StreamedText() | TransientEvent():
                self._receive_of_session(message)
            case SnapshotWanted():
                self._answer(message.session_id)
            case SessionRemoved():
                self._begin(self._check_removed(message.session_id))
            case WatchStarted():
                self._unchecked.add(message.session_id)
                self._is_poll_due.set()
                self.want_snapshot(message.session_id)
            case HintsLost():
                self._unchecked |= set(self._list_watched())
                self._is_poll_due.set()
                for session_id in self._list_watched():
                    self.want_snapshot(session_id)
            case _:
                pass

    def _receive_of_session(self, message: SessionAdvanced | StreamedText | TransientEvent) -> None:
        session_id, listens_to_all = message.session_id, self._has_listeners_to_all()
        known = self._sequencers.get(session_id)
        if not listens_to_all and (known is None or not known.listeners):
            return  # it was told before nobody listened any more
        sequencer = known or self._get_or_create(session_id)
        elsewhere = sequencer.elsewhere
        assert elsewhere is not None
        elsewhere.receive(message, may_publish=known is not None and not sequencer.lock.locked())
        if len(elsewhere) and not elsewhere.is_taken:
            elsewhere.is_taken = True
            self._begin(self._take(session_id, sequencer))

    async def _take(self, session_id: str, sequencer: SessionSequencer) -> None:
        elsewhere = sequencer.elsewhere
        assert elsewhere is not None
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while len(elsewhere) and self._sequencers.get(session_id) is sequencer:
            try:
                async with self._acquire(session_id):
                    await elsewhere.take()
                backoff_seconds = INITIAL_BACKOFF_SECONDS
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the events of session %s of another host could not be read", session_id)
                await self._clock.sleep(backoff_seconds)
                backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)
        elsewhere.is_taken = False

    def _answer(self, session_id: str) -> None:
        """Send the text so far of the replies that stream from this process."""
        sequencer = self._sequencers.get(session_id)
        if sequencer is None or sequencer.elsewhere is None:
            return
        after_seq = sequencer.elsewhere.published or 0
        for task_id, start in sequencer.elsewhere.own_replies():
            reply = sequencer.stream_snapshots.find(task_id)
            if reply is None or not 0 < reply.length <= MAX_SNAPSHOT_CHARACTERS:
                continue
            reset = StreamReset(epoch=reply.epoch, reason=SNAPSHOT_RESET_REASON)
            chunk = StreamChunk(epoch=reply.epoch, text=reply.join())
            for event in (reset, chunk):
                event.session_id, event.task_id, event.run_id = session_id, task_id, reply.run_id
                self.tell_streamed(event, start, after_seq)

    async def _check_removed(self, session_id: str) -> None:
        try:
            position = await self.find_position(session_id)
            if position is None and session_id not in self._sequencers:
                await self._before_deletion(session_id)
            await self._end_if_deleted(session_id, position)
        except Exception as error:  # noqa: BLE001 - logged; the next poll finds it
            log_failure(log, error, "whether session %s was deleted could not be read", session_id)

    async def _end_if_deleted(self, session_id: str, position: LogPosition | None) -> None:
        sequencer = self._sequencers.get(session_id)
        if sequencer is None or sequencer.elsewhere is None:
            return
        known = sequencer.elsewhere.session
        if known is None or (position is not None and position.session == known) or session_id in self._ending:
            return
        self._ending.add(session_id)
        try:
            await self._before_deletion(session_id)
            async with self._acquire(session_id) as current:
                if current.elsewhere is not None and current.elsewhere.session == known:
                    current.end_subscriptions(SessionDeleted(session_id=session_id), is_elsewhere=True)
                    self.update_watch(session_id, current)
        finally:
            self._ending.discard(session_id)

    async def _poll_forever(self) -> None:
        """Look at the sessions that ask for it, and every `POLL_SECONDS` at all, however many ask meanwhile."""
        due_at = self._clock.monotonic() + POLL_SECONDS
        while True:
            with suppress(TimeoutError):
                async with self._clock.timeout(max(due_at - self._clock.monotonic(), 0.0)):
                    await self._is_poll_due.wait()
            self._is_poll_due.clear()
            unchecked, self._unchecked = self._unchecked, set()
            if self._clock.monotonic() >= due_at:
                due_at = self._clock.monotonic() + POLL_SECONDS
                unchecked |= set(self._list_watched())
            await self._poll([each for each in unchecked if each in self._sequencers])

    async def _poll(self, session_ids: Sequence[str]) -> None:
        """Ask the store where sessions are, and publish what is missing."""
        if not session_ids:
            return
        try:
            positions = await self._log.find_positions(session_ids)
            for session_id in session_ids:
                await self._compare(session_id, positions.get(session_id))
        except Exception as error:  # noqa: BLE001 - logged; the next poll follows
            log_failure(log, error, "the events of other hosts could not be looked for")

    async def _compare(self, session_id: str, position: LogPosition | None) -> None:
        await self._end_if_deleted(session_id, position)
        sequencer = self._sequencers.get(session_id)
        if sequencer is None or position is None or (elsewhere := sequencer.elsewhere) is None:
            return
        elsewhere.ask_again()
        if elsewhere.session is None:
            elsewhere.session = position.session
        if elsewhere.session == position.session and position.seq > (elsewhere.published or 0):
            self._receive_of_session(SessionAdvanced(session_id, position.seq, 0))

    def _list_watched(self) -> list[str]:
        return [each for each, sequencer in self._sequencers.items() if sequencer.listeners]

    def _begin(self, work: Awaitable[None]) -> None:
        if self._is_closed:
            return
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
