"""Event bus of a host: durable events are numbered per session and stored before they are published."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from sophon.clock import Clock
from sophon.errors import NotFound, SessionTaken
from sophon.events import Event, EventSink, NullEventSink, SessionDeleted
from sophon.failure_log import log_failure
from sophon.stores.sessions.contract import SessionStore
from sophon_hosting.background_tasks import complete
from sophon_hosting.events.event_fanout import EventFanout
from sophon_hosting.events.missed_events import MissedEvents, bound_missed_events, find_position, read_missed_events
from sophon_hosting.events.publisher import EventTaps, SessionPublisher
from sophon_hosting.events.remote_events import FindStart
from sophon_hosting.events.sequencer import SessionSequencer
from sophon_hosting.events.session_transactions import EventTransaction, Transaction
from sophon_hosting.events.wire_event import EventListener, RowBuilder, WireEvent, to_logged_event
from sophon_hosting.fanout.contract import HostFanout
from sophon_hosting.store.events.logged_event import LogPosition
from sophon_hosting.store.events.sql import EventLog
from sophon_hosting.store.runs.contract import Run, RunStore

log = logging.getLogger("sophon")

T = TypeVar("T")
P = ParamSpec("P")

SNAPSHOT_SECONDS = 3.0
"""How long another process may take to send the text so far of a reply that it streams."""

DeletionCallback = Callable[[str], Awaitable[None]]
"""Called with a session id before that session is deleted; ends what still works for the session."""


class EventBus:
    """Event sink of a host, with one sequencer per session.

    All listeners of a session receive the same events in the same order: by `seq`, with transient events (chunks)
    between them in order of emission. If the store refuses an event, storing is retried with back-off and later events
    of the session wait. `runs` stores the events, with what turns stage; `events` reads them. `global_sink` receives
    the events of all sessions, `taps` those of their classes.

    A subscription is to the session of one owner: it ends with the session, and a session that gets the same id later
    is another one. With `sessions`, a listener is added only while the session belongs to that owner.

    `fanout` links the bus with those of other processes on the same store, which may append to the same sessions:
    listeners of a session receive all its events, whoever has stored them. `find_start` returns the number of the
    current start of a task that runs here. `before_deletion` are awaited before a session is deleted, here or by
    another process; a service that starts and stops adds its own (`add_deletion_callback`).
    """

    def __init__(
        self,
        events: EventLog,
        runs: RunStore,
        clock: Clock,
        global_sink: EventSink | None = None,
        sessions: SessionStore | None = None,
        build_row: RowBuilder = to_logged_event,
        fanout: HostFanout | None = None,
        find_start: FindStart = lambda _: 0,
        before_deletion: Iterable[DeletionCallback] = (),
        taps: EventTaps | None = None,
    ) -> None:
        self._build_row = build_row
        self._runs = runs
        self._log, self._clock, self._sessions = events, clock, sessions
        self._deletion_callbacks = list(before_deletion)
        self._taps = dict(taps or {})
        if not (global_sink is None or isinstance(global_sink, NullEventSink)):
            self._taps[Event] = [global_sink.emit]
        self._sequencers: dict[str, SessionSequencer] = {}
        self._global_listeners: list[EventListener] = []
        self._observers: list[EventListener] = []
        self._exchange: EventFanout | None = None
        if fanout is not None and fanout.reaches_others:
            self._exchange = EventFanout(
                fanout,
                events,
                clock,
                find_start,
                self._sequencers,
                self.session,
                self._call_before_deletion,
                lambda: bool(self._observers),
            )

    def start(self) -> None:
        """Hear what other processes store and stream, until `aclose`."""
        if self._exchange is not None:
            self._exchange.start()

    def emit(self, event: Event, /) -> None:
        """Accept an event of a session; never blocks. Raises as `SessionSequencer.push`."""
        self.session(event.session_id).push(event)

    def session(self, session_id: str) -> SessionSequencer:
        """Return the sequencer of a session, for who emits, stages or stores in it now; keep none."""
        sequencer = self._sequencers.get(session_id)
        if sequencer is None:
            sequencer = self._sequencers[session_id] = self._create_sequencer(session_id)
        return sequencer

    def subscribe_all(self, listener: EventListener, *, elsewhere: bool = False) -> None:
        """Subscribe a listener to the events of all sessions that this process stores.

        With `elsewhere`, also to those of other processes, as far as hints tell of them: for who shows events. Who
        acts on events leaves it out, so that one process acts.
        """
        if not elsewhere:
            self._global_listeners.append(listener)
            return
        self._observers.append(listener)
        if self._exchange is not None:
            self._exchange.watch_all_sessions()

    def unsubscribe_all(self, listener: EventListener) -> None:
        """Undo `subscribe_all`."""
        if listener in self._global_listeners:
            self._global_listeners.remove(listener)
            return
        self._observers.remove(listener)
        if self._exchange is not None:
            self._exchange.watch_all_sessions()

    async def join_session(
        self, session_id: str, last_seq: int, listener: EventListener, owner: str | None = None
    ) -> MissedEvents:
        """Return the events after `last_seq` and subscribe to all later ones, without gaps or duplicates.

        A listener that joins again is subscribed once. Raises SessionTaken if the session is no longer `owner`'s.
        """
        async with self.session(session_id).hold() as sequencer:
            if owner is not None:
                await self._check_owner(session_id, owner)
            position = await find_position(self._log, session_id)
            if sequencer.publisher.elsewhere is not None:
                self._end_deleted(session_id, sequencer, position)
            missed = await read_missed_events(self._log, session_id, last_seq, position)
            if sequencer.publisher.elsewhere is not None:
                sequencer.publisher.elsewhere.begin(position, missed.seq)
                await sequencer.publisher.elsewhere.catch_up(missed.seq)
            # While the lock is held, nothing else is published: what follows the last row reaches the listener later.
            sequencer.publisher.listeners[listener] = owner
            if self._exchange is not None:
                self._exchange.update_watch(session_id, sequencer)
            return bound_missed_events(missed, sequencer.publisher.stream_snapshots.to_wire_events(session_id))

    def find_streamed_text(self, session_id: str, task_id: str, epoch: int) -> str | None:
        """Return the text so far of a reply that is being streamed; None if that epoch of it is not."""
        sequencer = self._sequencers.get(session_id)
        return sequencer.publisher.stream_snapshots.find_text(task_id, epoch) if sequencer is not None else None

    async def fetch_streamed_text(self, session_id: str, task_id: str, epoch: int, characters: int = 0) -> str | None:
        """Return the text so far of a reply, also of one that another process streams; None if that epoch is not.

        Waits up to `SNAPSHOT_SECONDS` for another process to send so many `characters`. Raises StoreError.
        """
        text = self.find_streamed_text(session_id, task_id, epoch)
        if self._exchange is None or (text is not None and len(text) >= characters):
            return text
        arrived = asyncio.Event()

        def notice(_: WireEvent) -> None:
            arrived.set()

        await self.subscribe(session_id, notice)
        try:
            self._exchange.want_snapshot(session_id)
            async with self._clock.timeout(SNAPSHOT_SECONDS):
                while (text := self.find_streamed_text(session_id, task_id, epoch)) is None or len(text) < characters:
                    arrived.clear()
                    await arrived.wait()
        except TimeoutError:
            pass
        finally:
            found = self.find_streamed_text(session_id, task_id, epoch)
            self.unsubscribe(session_id, notice)
        return found

    async def subscribe(self, session_id: str, listener: EventListener, owner: str | None = None) -> None:
        """Subscribe to later events of a session, until `unsubscribe`. Idempotent.

        The session may not exist yet. Raises SessionTaken if it is no longer `owner`'s.
        """
        async with self.session(session_id).hold() as sequencer:
            if owner is not None:
                await self._check_owner(session_id, owner, may_be_new=True)
            if sequencer.publisher.elsewhere is not None:
                position = await find_position(self._log, session_id)
                self._end_deleted(session_id, sequencer, position)
                sequencer.publisher.elsewhere.begin(position, 0 if position is None else position.seq)
            sequencer.publisher.listeners[listener] = owner
            if self._exchange is not None:
                self._exchange.update_watch(session_id, sequencer)

    def unsubscribe(self, session_id: str, listener: EventListener) -> None:
        """Unsubscribe a listener from a session."""
        sequencer = self._sequencers.get(session_id)
        if sequencer is not None and listener in sequencer.publisher.listeners:
            del sequencer.publisher.listeners[listener]
            if self._exchange is not None:
                self._exchange.update_watch(session_id, sequencer)
            sequencer.discard_if_idle()

    def drop_listeners_of_others(self, session_id: str, owner: str) -> None:
        """Unsubscribe who subscribed when a session of that id had another owner.

        Needed where a session was deleted by another process, as by `sophon sessions delete`.
        """
        sequencer = self._sequencers.get(session_id)
        if sequencer is not None:
            sequencer.publisher.drop_listeners_of_others(owner)
            if self._exchange is not None:
                self._exchange.update_watch(session_id, sequencer)
            sequencer.discard_if_idle()

    def add_deletion_callback(self, callback: DeletionCallback) -> None:
        """Await a callback, too, before a session is deleted, until `remove_deletion_callback`."""
        self._deletion_callbacks.append(callback)

    def remove_deletion_callback(self, callback: DeletionCallback) -> None:
        """Undo `add_deletion_callback`."""
        self._deletion_callbacks.remove(callback)

    async def delete_session(self, session_id: str, delete: Callable[[str], Awaitable[None]]) -> None:
        """Delete a session with `delete`, then publish `SessionDeleted` and end all subscriptions to the session.

        The caller makes sure that no turn runs in it and none starts. Raises the errors of `delete`; nothing has
        changed then.
        """
        await self._call_before_deletion(session_id)
        async with self.session(session_id).hold() as sequencer:
            with suppress(NotFound):  # deleted by another process; `delete` reports it
                await sequencer.flush()
            await delete(session_id)
            sequencer.end_subscriptions(SessionDeleted(session_id=session_id))
            if self._exchange is not None:
                self._exchange.update_watch(session_id, sequencer)
        if self._exchange is not None:
            self._exchange.tell_removed(session_id)

    async def _call_before_deletion(self, session_id: str) -> None:
        for callback in self._deletion_callbacks:
            await callback(session_id)

    async def commit(self, session_id: str, write: Transaction[T]) -> T:
        """Store what a turn reports in the transaction of `write`, with all that is staged and pending in its session;
        then publish the events. See `SessionSequencer.commit`.

        Completes even if the caller is cancelled. Raises the errors of the store.
        """
        return await complete(self._run_alone(session_id, SessionSequencer.commit, write))

    async def commit_events(self, session_id: str, write: EventTransaction[T]) -> T:
        """Store pending events, let `write` store further ones together with what they report, then publish these.

        What is pending in a session that was deleted is dropped: `write` may begin a new one of that id. Nothing is
        published if `write` raises, or stores no events. Completes even if the caller is cancelled. Raises its errors,
        and those of the store.
        """
        return await complete(self._run_alone(session_id, SessionSequencer.commit_events, write))

    async def load_run_events(self, run: Run) -> None:
        """Load the stored events of a run of a previous process for de-duplication. Raises StoreError."""
        async with self.session(run.session_id).hold() as sequencer:
            await sequencer.flush()
            after = 0
            while rows := await self._log.list_after(run.session_id, after):
                sequencer.publisher.deduplicator.load(row for row in rows if row.task_id == run.id)
                after = rows[-1].seq

    def has_emitted(self, run: Run, name: str, *fields: str) -> bool:
        """Return whether a recalled or local run has emitted an event of that name, with these identifying fields."""
        sequencer = self._sequencers.get(run.session_id)
        return sequencer is not None and sequencer.publisher.deduplicator.has_emitted(run.id, name, *fields)

    async def wait_until_published(self, run: Run) -> None:
        """Wait until what a transaction of a run's session has stored, if one is going on, is published."""
        async with self.session(run.session_id).hold():
            pass

    def forget_run(self, session_id: str, task_id: str) -> None:
        """Forget which events of a run were emitted, because its next start may be another process's."""
        sequencer = self._sequencers.get(session_id)
        if sequencer is not None:
            sequencer.publisher.deduplicator.published.pop(task_id, None)
            sequencer.discard_if_idle()

    async def flush(self, session_id: str) -> None:
        """Wait until all emitted events of a session are stored and published.

        Completes even if the caller is cancelled. Raises StoreError, NotFound.
        """
        await complete(self._run_alone(session_id, SessionSequencer.flush))

    async def aclose(self) -> None:
        """Flush all sessions once; events that the store refuses are logged and dropped."""
        if self._exchange is not None:
            await self._exchange.aclose()
        for session_id in list(self._sequencers):
            try:
                await self.flush(session_id)
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "events of session %s could not be stored", session_id)
        for sequencer in list(self._sequencers.values()):
            await sequencer.aclose()

    @property
    def session_count(self) -> int:
        """The number of sessions with a sequencer."""
        return len(self._sequencers)

    async def _check_owner(self, session_id: str, owner: str, *, may_be_new: bool = False) -> None:
        """Raise SessionTaken unless the session is the owner's; the caller holds the lock, as a deletion does."""
        if self._sessions is None:
            return
        session = await self._sessions.find(session_id)
        if not may_be_new if session is None else session.owner != owner:
            raise SessionTaken(session_id)

    def _create_sequencer(self, session_id: str) -> SessionSequencer:
        make_elsewhere = None if self._exchange is None else self._exchange.make_elsewhere
        publisher = SessionPublisher(session_id, self._taps, self._global_listeners, self._observers, make_elsewhere)
        on_idle = partial(self._discard, session_id)
        return SessionSequencer(session_id, self._log, self._runs, self._clock, publisher, on_idle, self._build_row)

    def _end_deleted(self, session_id: str, sequencer: SessionSequencer, position: LogPosition | None) -> None:
        """End what listens to a deleted session of that id, before anybody listens to the one at `position`."""
        assert sequencer.publisher.elsewhere is not None
        if position is not None and sequencer.publisher.elsewhere.session not in (None, position.session):
            sequencer.end_subscriptions(SessionDeleted(session_id=session_id), is_elsewhere=True)

    async def _run_alone(
        self,
        session_id: str,
        work: Callable[Concatenate[SessionSequencer, P], Awaitable[T]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        """Run a method of a session's sequencer while its lock is held."""
        async with self.session(session_id).hold() as sequencer:
            return await work(sequencer, *arguments, **named)

    def _discard(self, session_id: str, sequencer: SessionSequencer) -> None:
        """Delete the sequencer of an idle session."""
        if self._sequencers.get(session_id) is sequencer:
            del self._sequencers[session_id]
            if self._exchange is not None and sequencer.publisher.elsewhere is not None:
                self._exchange.keep_position(session_id, sequencer.publisher.elsewhere.published)
