"""Exchange of events between host processes: tells others what is stored and streamed here, and hears it from them.

What others tell are hints; every two seconds the store is asked where the sessions with listeners are.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from sophon.clock import Clock
from sophon.events import SessionDeleted
from sophon.failure_log import log_failure
from sophon_hosting.background_tasks import BackgroundTasks, end_tasks
from sophon_hosting.events.missed_events import find_position
from sophon_hosting.events.publisher import SessionPublisher
from sophon_hosting.events.remote_events import FindStart, RemoteEvents
from sophon_hosting.events.sequencer import SessionSequencer
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
from sophon_hosting.store.events.logged_event import LogPosition
from sophon_hosting.store.events.sql import EventLog

log = logging.getLogger("sophon")

POLL_SECONDS = 2.0
"""Interval at which the store is asked for what hints did not tell."""

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off between two attempts to read the store."""

MAX_POSITIONS = 10_000
"""Sessions whose last seq is kept for listeners to all sessions while nothing happens in them."""


class EventFanout:
    """Exchange of one event bus with those of other processes.

    `sequencers` are those of the bus, `get_or_create` provides one, `before_deletion` is called for a session that
    another process has deleted. `has_listeners_to_all` says whether anybody listens to all sessions.
    """

    def __init__(
        self,
        fanout: HostFanout,
        events: EventLog,
        clock: Clock,
        find_start: FindStart,
        sequencers: Mapping[str, SessionSequencer],
        get_or_create: Callable[[str], SessionSequencer],
        before_deletion: Callable[[str], Awaitable[None]],
        has_listeners_to_all: Callable[[], bool],
    ) -> None:
        self._fanout, self._log, self._clock, self._find_start = fanout, events, clock, find_start
        self._sequencers, self._get_or_create = sequencers, get_or_create
        self._before_deletion = before_deletion
        self._has_listeners_to_all = has_listeners_to_all
        self._positions: OrderedDict[str, int] = OrderedDict()
        self._tasks = BackgroundTasks()
        self._poll_task: asyncio.Task[None] | None = None
        self._is_poll_due = asyncio.Event()
        self._unchecked: dict[str, None] = {}  # in the order in which they asked
        """Sessions whose messages arrive since a moment ago; what was told before was not heard."""
        self._ending: set[str] = set()
        """Sessions that another process has deleted, and whose subscriptions are being ended."""

    def start(self) -> None:
        """Listen to the other hosts, and begin to poll."""
        self._fanout.subscribe(self._receive)
        self._poll_task = asyncio.create_task(self._poll_forever())

    async def aclose(self) -> None:
        """Hear nothing any more."""
        if self._poll_task is not None:
            self._fanout.unsubscribe(self._receive)
        await end_tasks(self._poll_task, *self._tasks)

    def update_watch(self, session_id: str, sequencer: SessionSequencer) -> None:
        """Watch a session as long as anybody here listens to it."""
        elsewhere = sequencer.publisher.elsewhere
        if elsewhere is None or elsewhere.is_watched == bool(sequencer.publisher.listeners):
            return
        elsewhere.is_watched = bool(sequencer.publisher.listeners)
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
                if not sequencer.publisher.listeners and sequencer.publisher.elsewhere is not None:
                    sequencer.publisher.elsewhere.end()

    def keep_position(self, session_id: str, seq: int | None) -> None:
        """Keep the last seq of a session for listeners to all sessions."""
        if seq is not None and self._has_listeners_to_all():
            self._positions[session_id] = seq
            self._positions.move_to_end(session_id)
            if len(self._positions) > MAX_POSITIONS:
                self._positions.popitem(last=False)

    def make_elsewhere(self, session_id: str, publisher: SessionPublisher) -> RemoteEvents:
        """Return what a publisher needs to publish the events of other processes, and to tell them of its own."""
        elsewhere = RemoteEvents(
            session_id,
            self._log,
            self._fanout,
            self._find_start,
            self._look_again,
            publisher.stream_snapshots,
            publisher.deliver,
            publisher.deliver_streamed,
            publisher.note_elsewhere,
        )
        elsewhere.published = self._positions.get(session_id)
        return elsewhere

    def tell_removed(self, session_id: str) -> None:
        """Tell that this process has deleted a session."""
        self._fanout.publish(SessionRemoved(session_id))

    def _look_again(self, session_id: str) -> None:
        self._unchecked[session_id] = None
        self._is_poll_due.set()

    def want_snapshot(self, session_id: str) -> None:
        """Ask for the text so far of what other processes stream."""
        self._fanout.publish(SnapshotWanted(session_id))

    def _receive(self, message: HostMessage) -> None:
        match message:
            case SessionAdvanced() | StreamedText() | TransientEvent():
                self._receive_of_session(message)
            case SnapshotWanted():
                sequencer = self._sequencers.get(message.session_id)
                if sequencer is not None and sequencer.publisher.elsewhere is not None:
                    sequencer.publisher.elsewhere.answer_snapshots()
            case SessionRemoved():
                self._tasks.start(self._check_removed(message.session_id))
            case WatchStarted():
                self._look_again(message.session_id)
                self.want_snapshot(message.session_id)
            case HintsLost():
                self._unchecked |= dict.fromkeys(self._list_watched())
                self._is_poll_due.set()
                for session_id in self._list_watched():
                    self.want_snapshot(session_id)
            case _:
                pass

    def _receive_of_session(self, message: SessionAdvanced | StreamedText | TransientEvent) -> None:
        session_id, listens_to_all = message.session_id, self._has_listeners_to_all()
        known = self._sequencers.get(session_id)
        if not listens_to_all and (known is None or not known.publisher.listeners):
            return  # it was told before nobody listened any more
        sequencer = known or self._get_or_create(session_id)
        elsewhere = sequencer.publisher.elsewhere
        assert elsewhere is not None
        elsewhere.receive(message, may_publish=known is not None and not sequencer.lock.locked())
        if len(elsewhere) and not elsewhere.is_taken:
            elsewhere.is_taken = True
            self._tasks.start(self._take(session_id, sequencer))

    async def _take(self, session_id: str, sequencer: SessionSequencer) -> None:
        elsewhere = sequencer.publisher.elsewhere
        assert elsewhere is not None
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while len(elsewhere) and self._sequencers.get(session_id) is sequencer:
            try:
                async with self._get_or_create(session_id).hold():
                    await elsewhere.take()
                backoff_seconds = INITIAL_BACKOFF_SECONDS
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the events of session %s of another host could not be read", session_id)
                await self._clock.sleep(backoff_seconds)
                backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)
        elsewhere.is_taken = False

    async def _check_removed(self, session_id: str) -> None:
        try:
            position = await find_position(self._log, session_id)
            if position is None and session_id not in self._sequencers:
                await self._before_deletion(session_id)
            await self._end_if_deleted(session_id, position)
        except Exception as error:  # noqa: BLE001 - logged; the next poll finds it
            log_failure(log, error, "whether session %s was deleted could not be read", session_id)

    async def _end_if_deleted(self, session_id: str, position: LogPosition | None) -> None:
        sequencer = self._sequencers.get(session_id)
        if sequencer is None or sequencer.publisher.elsewhere is None:
            return
        known = sequencer.publisher.elsewhere.session
        if known is None or (position is not None and position.session == known) or session_id in self._ending:
            return
        self._ending.add(session_id)
        try:
            await self._before_deletion(session_id)
            async with self._get_or_create(session_id).hold() as current:
                if current.publisher.elsewhere is not None and current.publisher.elsewhere.session == known:
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
            unchecked, self._unchecked = self._unchecked, {}
            if self._clock.monotonic() >= due_at:
                due_at = self._clock.monotonic() + POLL_SECONDS
                unchecked |= dict.fromkeys(self._list_watched())
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
        if sequencer is None or position is None or (elsewhere := sequencer.publisher.elsewhere) is None:
            return
        elsewhere.ask_again()
        if elsewhere.session is None:
            elsewhere.session = position.session
        if elsewhere.session == position.session and position.seq > (elsewhere.published or 0):
            self._receive_of_session(SessionAdvanced(session_id, position.seq, 0))

    def _list_watched(self) -> list[str]:
        return [each for each, sequencer in self._sequencers.items() if sequencer.publisher.listeners]
