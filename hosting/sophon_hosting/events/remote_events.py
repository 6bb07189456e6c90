"""Events from elsewhere of one session: what other host processes store and stream, in its place among the own events.

The seqs are given by the store, so several processes may append to one session. What was published last is known here;
what others have stored since is read from the store before anything later is published. The others are told of the own
events.
"""

import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TypeAlias

from sophon.events import Event, StreamChunk, StreamReset, event_from_wire, event_type
from sophon.failure_log import log_failure
from sophon_hosting.events.stream_snapshots import SNAPSHOT_RESET_REASON, StreamSnapshots
from sophon_hosting.events.wire_event import WireEvent, wire_event_from_log
from sophon_hosting.fanout.contract import HostFanout, SessionAdvanced, SnapshotWanted, StreamedText, TransientEvent
from sophon_hosting.store.events.logged_event import LoggedEvent, LogPosition
from sophon_hosting.store.events.sql import EventLog

log = logging.getLogger("sophon")

Arrived: TypeAlias = SessionAdvanced | StreamedText | TransientEvent
"""What another host tells of a session."""

FindStart: TypeAlias = Callable[[str], int]
"""Returns the number of the current start of a task that runs here; 0 for another one."""

EVENTS_PER_READ = 1000

MAX_WAITING = 5_000
"""Messages that wait while the store is slow; with more, the streamed ones are dropped and asked for again."""

MAX_SNAPSHOT_CHARACTERS = 1_000_000
"""Longer texts are not sent to a host that asks for the text so far: its clients get them with the final event."""

MAX_FINISHED_TASKS = 64
"""Newest finished tasks of a session whose late chunks are recognised."""


class RemoteEvents:
    """Events of other processes in one session; the holder of the sequencer's lock publishes them.

    `deliver` passes stored events to who listens, `deliver_streamed` others. `snapshots` are those of the sequencer.
    `look_again` lets the store be asked soon where the session is.
    """

    def __init__(
        self,
        session_id: str,
        log: EventLog,
        fanout: HostFanout,
        find_start: FindStart,
        look_again: Callable[[str], None],
        snapshots: StreamSnapshots,
        deliver: Callable[[WireEvent], None],
        deliver_streamed: Callable[[Event], None],
        note_stored: Callable[[LoggedEvent], None],
    ) -> None:
        self._session_id, self._log, self._fanout, self._snapshots = session_id, log, fanout, snapshots
        self._find_start, self._look_again = find_start, look_again
        self._deliver, self._deliver_streamed, self._note_stored = deliver, deliver_streamed, note_stored
        self._waiting: deque[Arrived] = deque()
        self._starts: dict[str, int] = {}
        """Number of the newest start of which anything was streamed, by task."""
        self._own_tasks: set[str] = set()
        """Tasks whose newest start streams from this process."""
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._is_snapshot_wanted = False
        self.published: int | None = None
        """Seq of the last event that was published; None while nobody listens."""
        self.stored = 0
        """Seq of the last event that this process has stored."""
        self.session: int | None = None
        """Which session of that id it is (`LogPosition.session`); None if not known yet."""
        self.is_behind = False
        """Whether own events were stored, but not delivered because what is before them could not be read."""
        self.is_watched = False
        """Whether the fan-out was asked for the session's messages."""
        self.is_taken = False
        """Whether a task takes what waits."""

    def __len__(self) -> int:
        """Return how many messages wait to be published."""
        return len(self._waiting)

    def begin(self, position: LogPosition | None, seq: int) -> None:
        """Publish what is stored after `seq`, unless others listen already; `position` says which session it is."""
        if self.published is None:
            self.published = seq
        if position is not None and self.session is None:
            self.session = position.session

    def end(self) -> None:
        """Publish nothing any more, because nobody listens; a later listener begins anew."""
        self.published, self.is_behind = None, False
        self._waiting.clear()
        for task_id in list(self._starts):
            if task_id not in self._own_tasks:
                self._snapshots.discard(task_id)
                del self._starts[task_id]

    def restart(self) -> None:
        """Forget the session, which was deleted; a later one of that id begins at its first event."""
        self._waiting.clear()
        self._starts.clear()
        self._own_tasks.clear()
        self._finished.clear()
        self.published = None if self.published is None else 0
        self.stored, self.session, self.is_behind = 0, None, False

    def receive(self, message: Arrived, *, may_publish: bool) -> None:
        """Take a message of another host: it is published now, if it may be and nothing is missing, or waits."""
        target = self._target(message)
        is_due = not isinstance(message, SessionAdvanced) and (self.published is None or target <= self.published)
        if may_publish and is_due and not self._waiting:
            self._publish_streamed(message)
            return
        if len(self._waiting) >= MAX_WAITING:
            newest = max(
                (each for each in self._waiting if isinstance(each, SessionAdvanced)), key=self._target, default=None
            )
            self._waiting.clear()
            if newest is not None:
                self._waiting.append(newest)
        self._waiting.append(message)

    async def take(self) -> None:
        """Publish what waits, and before each message what is stored before it. Raises StoreError; the rest waits."""
        while self._waiting:
            message = self._waiting[0]
            if self.published is None and isinstance(message, SessionAdvanced):
                self.published = message.seq - message.count  # somebody listens to all sessions, from now on
            if self.published is not None:
                await self.catch_up(self._target(message))
            if self._waiting and self._waiting[0] is message:
                self._waiting.popleft()
                self._publish_streamed(message)

    async def catch_up(self, seq: int) -> None:
        """Read and publish what is stored up to a seq and was not published yet. Raises StoreError."""
        while self.published is not None and self.published < seq:
            rows = await self._log.list_after(
                self._session_id, self.published, min(EVENTS_PER_READ, seq - self.published)
            )
            if not rows:  # dropped by age, or a hint of a session that was deleted
                self.published = max(self.published, min(seq, await self._log.last_seq(self._session_id)))
                break
            for row in rows:
                if row.seq > seq:  # those before it were dropped by age
                    self.published = seq
                    break
                self._publish_row(row)
        self.is_behind = False

    async def publish_missing(self, seq: int) -> None:
        """Publish what others have stored up to a seq, before own events; those wait if it cannot be read."""
        try:
            await self.catch_up(seq)
        except Exception as error:  # noqa: BLE001 - logged; the events are read from the store later
            self.is_behind = True
            log_failure(log, error, "the events of session %s of other hosts could not be read", self._session_id)

    def tell_stored(self, last: int, count: int) -> None:
        """Tell the other processes of own stored events, published unless they are behind; `last` is their last seq."""
        self.stored = last
        if self.published is not None and not self.is_behind:
            self.published = max(self.published, last)
        self._fanout.publish(SessionAdvanced(self._session_id, last, count))
        if self.is_behind:
            self._look_again(self._session_id)

    def may_deliver(self, event: Event) -> bool:
        """Return whether listeners may get an event now; else they get it with what is missing before it."""
        return not (event.durable and self.is_behind)

    def report(self, event: Event) -> None:
        """Tell the other processes of an own event that is not stored; note an outcome."""
        if not event.durable:
            self._tell_streamed(event, self._find_own_start(event), max(self.published or 0, self.stored))
            return
        self.stored = event.seq or 0
        if event.is_final:
            self.note_finished(event.task_id)

    def answer_snapshots(self) -> None:
        """Send the other processes the text so far of the replies that stream from this one."""
        for task_id in list(self._own_tasks):
            reply = self._snapshots.find(task_id)
            if reply is None or not 0 < reply.length <= MAX_SNAPSHOT_CHARACTERS:
                continue
            reset = StreamReset(epoch=reply.epoch, reason=SNAPSHOT_RESET_REASON)
            chunk = StreamChunk(epoch=reply.epoch, text=reply.join())
            for event in (reset, chunk):
                event.session_id, event.task_id, event.run_id = self._session_id, task_id, reply.run_id
                self._tell_streamed(event, self._starts.get(task_id, 0), self.published or 0)

    def note_finished(self, task_id: str) -> None:
        """Note that a task has its outcome: what is streamed of it later is out of date."""
        self._starts.pop(task_id, None)
        self._own_tasks.discard(task_id)
        self._finished[task_id] = None
        if len(self._finished) > MAX_FINISHED_TASKS:
            self._finished.popitem(last=False)

    def admit_own(self, event: Event) -> bool:
        """Return whether an own event that is not stored is current: no other process has a newer start of its run."""
        task_id, start = event.task_id, self._find_own_start(event)
        known = self._starts.get(task_id)
        if known is not None and start < known:
            return False
        if not task_id or task_id in self._finished:
            return True
        self._starts[task_id] = start
        self._own_tasks.add(task_id)
        return True

    def _find_own_start(self, event: Event) -> int:
        """Return the start of an event's run; of a run that is not active any more, the newest one known."""
        start = self._find_start(event.task_id) if event.task_id else 0
        return start or self._starts.get(event.task_id, 0)

    def _tell_streamed(self, event: Event, start: int, after_seq: int) -> None:
        """Tell of an event that is not stored. What each process emits itself is not told."""
        session_id, task_id = event.session_id, event.task_id
        if event.is_process_local:
            return
        if isinstance(event, StreamChunk):
            self._fanout.publish(
                StreamedText(session_id, task_id, event.run_id, start, event.epoch, event.offset, event.text, after_seq)
            )
            return
        data = event.to_wire()
        self._fanout.publish(TransientEvent(session_id, task_id, start, event.wire_name, data, after_seq))

    @staticmethod
    def _target(message: Arrived) -> int:
        return message.seq if isinstance(message, SessionAdvanced) else message.after_seq

    def _publish_row(self, row: LoggedEvent) -> None:
        self.published = row.seq
        self._note_stored(row)
        if event_type(row.name).is_final:
            self._snapshots.discard(row.task_id)
            self.note_finished(row.task_id)
        self._deliver(wire_event_from_log(self._session_id, row))

    def _publish_streamed(self, message: Arrived) -> None:
        if isinstance(message, SessionAdvanced):
            return
        if message.task_id in self._finished:
            if isinstance(message, TransientEvent) and not event_type(message.name).is_live:
                self._deliver_event(message)
            return
        known = self._starts.get(message.task_id)
        if known is not None and message.start < known:
            return  # of a worker that was replaced
        is_new_start = known is not None and message.start > known
        if message.task_id:
            self._starts[message.task_id] = message.start
            self._own_tasks.discard(message.task_id)
        if isinstance(message, StreamedText):
            self._publish_text(message, is_new_start=is_new_start)
            return
        if message.name != StreamReset.wire_name:
            self._deliver_event(message)
            return
        event = event_from_wire(message.name, message.data)
        if isinstance(event, StreamReset):
            reply = self._snapshots.find(message.task_id)
            is_answer = event.reason == SNAPSHOT_RESET_REASON
            if is_answer and not is_new_start and reply is not None and reply.epoch == event.epoch:
                return  # the answer to another host: the text so far is known here
            self._snapshots.discard(message.task_id)
            self._snapshots.record(event)
            self._deliver_streamed(event)

    def _deliver_event(self, message: TransientEvent) -> None:
        event = event_from_wire(message.name, message.data)
        if event is not None:
            self._deliver_streamed(event)

    def _publish_text(self, message: StreamedText, *, is_new_start: bool) -> None:
        reply = self._snapshots.find(message.task_id)
        if reply is not None and not is_new_start and message.epoch < reply.epoch:
            return
        if reply is not None and (is_new_start or message.epoch != reply.epoch):
            self._snapshots.discard(message.task_id)
            reset = StreamReset(epoch=message.epoch, reason="the reply is made again")
            self._deliver_streamed(self._with_ids(reset, message))
            reply = None
        length = 0 if reply is None else reply.length
        if message.offset > length:
            if not self._is_snapshot_wanted:
                self._is_snapshot_wanted = True
                self._fanout.publish(SnapshotWanted(self._session_id))
            return
        self._is_snapshot_wanted = False
        text = message.text[length - message.offset :]
        if not text:
            return
        chunk = StreamChunk(epoch=message.epoch, text=text)
        self._snapshots.record(self._with_ids(chunk, message))
        self._deliver_streamed(chunk)

    def ask_again(self) -> None:
        """Let the next gap in a streamed text be asked for, even if an answer is awaited: it may be lost."""
        self._is_snapshot_wanted = False

    def _with_ids(self, event: Event, message: StreamedText) -> Event:
        event.session_id, event.task_id, event.run_id = self._session_id, message.task_id, message.run_id
        return event
