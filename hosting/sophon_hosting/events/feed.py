"""The events of a host: each durable one gets its number in its session and is kept before anybody hears of it."""

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
"""Between two tries to keep what the store did not take."""

Write = Callable[[Callable[[int], Sequence[LoggedEvent]]], Awaitable[Finished]]
"""Keeps the end of a run together with its last events, which are made of the number of its last record."""


class EventFeed:
    """The event sink of a host, with a lane per session.

    In a session everybody hears the same events in the same order: that of their numbers, with what has none (chunks)
    in its place between them. A store that does not take an event is asked again; until it does, what follows waits.
    `outlet` hears everything of all sessions.
    """

    def __init__(self, events: EventLog, clock: Clock, outlet: EventSink | None = None) -> None:
        self._log, self._clock = events, clock
        self._outlet = outlet or Silence()
        self._lanes: dict[str, Lane] = {}
        self._watchers: list[Listener] = []

    def emit(self, event: Event, /) -> None:
        """Take an event of a session; never waits."""
        self._lane(event.session_id).push(event)

    def watch(self, listener: Listener) -> None:
        """Hear the events of all sessions."""
        self._watchers.append(listener)

    def unwatch(self, listener: Listener) -> None:
        """No more."""
        self._watchers.remove(listener)

    async def join(self, session_id: str, last_seq: int, listener: Listener) -> Joined:
        """What was missed after `last_seq`, and from then on every event, none twice. Joining again is the same place
        anew.
        """
        async with self._turn(session_id) as lane:
            joined = await missed(self._log, session_id, last_seq)
            if listener not in lane.listeners:
                lane.listeners.append(listener)
            return Joined(joined.seq, [*joined.events, *lane.replies.frames(session_id)], joined.partial)

    async def listen(self, session_id: str, listener: Listener) -> None:
        """Hear every event from now on, until `leave`; listening twice is listening once."""
        async with self._turn(session_id) as lane:
            if listener not in lane.listeners:
                lane.listeners.append(listener)

    def leave(self, session_id: str, listener: Listener) -> None:
        """Hear no more of it."""
        lane = self._lanes.get(session_id)
        if lane is not None and listener in lane.listeners:
            lane.listeners.remove(listener)
            self._discard(session_id, lane)

    async def conclude(self, session_id: str, events: Callable[[int], Sequence[Event]], write: Write) -> Finished:
        """Keep what came before, then have `write` keep the end of a run with its last events, then tell them.

        `events` makes them, given the number of the session's last record. Nothing is told of an end that was not the
        first. Raises what the store raises.
        """
        made: list[Event] = []

        def rows(recorded: int) -> list[LoggedEvent]:
            made[:] = events(recorded)
            return [row_of(event) for event in made]

        async with self._turn(session_id) as lane:
            await lane.write()
            finished = await write(rows)
            if finished.first:
                lane.numbered(made, finished.seq)
            return finished

    async def recall(self, run: Run) -> None:
        """A run of another process goes on here: learn what it has told. Raises StoreError."""
        async with self._turn(run.session_id) as lane:
            await lane.write()
            after = 0
            while rows := await self._log.after(run.session_id, after):
                lane.told.recall(row for row in rows if row.task_id == run.id)
                after = rows[-1].seq

    def has_told(self, run: Run, name: str) -> bool:
        """Whether a run that was recalled, or ran here, has told an event of that name."""
        lane = self._lanes.get(run.session_id)
        return lane is not None and lane.told.has_told(run.id, name)

    async def flush(self, session_id: str) -> None:
        """Return when all that was emitted is kept and told. Raises StoreError, NotFound."""
        async with self._turn(session_id) as lane:
            await lane.write()

    async def aclose(self) -> None:
        """Keep and tell what waits; what the store does not take now is given up, with a line in the log."""
        for session_id in list(self._lanes):
            try:
                await self.flush(session_id)
            except Exception:
                log.exception("events of session %s were not kept", session_id)
        for lane in self._lanes.values():
            if lane.work is not None:
                lane.work.cancel()
                with suppress(asyncio.CancelledError):
                    await lane.work

    def __len__(self) -> int:
        """How many sessions something is going on in."""
        return len(self._lanes)

    def _lane(self, session_id: str) -> Lane:
        lane = self._lanes.get(session_id)
        if lane is None:
            outlet = _Outlet(self._outlet, self._watchers)
            lane = self._lanes[session_id] = Lane(session_id, self._log, outlet, partial(self._wake, session_id))
        return lane

    def _wake(self, session_id: str) -> None:
        lane = self._lanes[session_id]
        if lane.work is None:
            lane.work = asyncio.create_task(self._work_off(session_id, lane))

    @asynccontextmanager
    async def _turn(self, session_id: str) -> AsyncGenerator[Lane]:
        lane = self._lane(session_id)
        lane.users += 1
        try:
            async with lane.turnstile:
                yield lane
        finally:
            lane.users -= 1
            self._discard(session_id, lane)

    async def _work_off(self, session_id: str, lane: Lane) -> None:
        pause = FIRST_PAUSE_SECONDS
        while lane.waits:
            try:
                async with self._turn(session_id):
                    await lane.write()
                pause = FIRST_PAUSE_SECONDS
            except NotFound:
                lane.drop()
            except Exception:
                log.exception("events of session %s are not kept yet; another try in %s s", session_id, pause)
                await self._clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        lane.work = None
        self._discard(session_id, lane)

    def _discard(self, session_id: str, lane: Lane) -> None:
        """A lane that nothing is going on in costs nothing."""
        if lane.idle and lane.work is None and self._lanes.get(session_id) is lane:
            del self._lanes[session_id]


class _Outlet:
    """Those who hear all sessions: the sink that the services were given, and the watchers."""

    def __init__(self, sink: EventSink, watchers: Sequence[Listener]) -> None:
        self._sink, self._watchers = sink, watchers

    def emit(self, event: Event, /) -> None:
        """To all of them."""
        try:
            self._sink.emit(event)
        finally:
            if self._watchers:
                frame = frame_of(event)
                for watcher in list(self._watchers):
                    watcher(frame)
