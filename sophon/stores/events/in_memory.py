"""In-memory event log."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from sophon.clock import Clock
from sophon.lazy_dataclass import dataclass
from sophon.stores.events.contract import LoggedEvent, LogPosition
from sophon.stores.outbound_entry import OutboundEntry
from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.sessions.records import session_not_found
from sophon.stores.texts.in_memory import InMemoryTextStore


@dataclass(slots=True)
class _EventList:
    last: int = 0
    events: list[LoggedEvent] = field(default_factory=list[LoggedEvent])
    traces: list[LoggedEvent] = field(default_factory=list[LoggedEvent])

    def drop(self, up_to: int) -> int:
        """Drop the events up to a seq; return how many."""
        count = max(0, up_to - self.last + len(self.events))
        del self.events[:count]
        return count


class InMemoryEventLog:
    """The event log of an `InMemoryStore`; see `EventLog`."""

    def __init__(self, clock: Clock, sessions: InMemorySessionStore, texts: InMemoryTextStore) -> None:
        self._clock = clock
        self._sessions = sessions
        self._texts = texts
        self._logs: defaultdict[str, _EventList] = defaultdict(_EventList)
        self._numbers: dict[str, int] = {}
        self._last_number = 0
        self.add_outbound: Callable[[Sequence[OutboundEntry]], Awaitable[int]] | None = None
        """Adds the outbound entries of events to the outbox, which is created after the log."""
        sessions.on_delete(self._forget)

    async def append(self, session_id: str, events: Sequence[LoggedEvent]) -> int:
        """See `EventLog.append`."""
        if session_id not in self._sessions:
            raise session_not_found(session_id, self._sessions)
        log, now = self._logs[session_id], self._clock.now()
        numbered = [event for event in events if not event.is_trace]
        if self.add_outbound is not None and (entries := [each for event in numbered for each in event.outbound]):
            await self.add_outbound(entries)
        log.events += [
            LoggedEvent(event.name, dict(event.data), event.task_id, seq, now, event.texts)
            for seq, event in enumerate(numbered, start=log.last + 1)
        ]
        log.traces += [replace(event, data=dict(event.data), at=event.at or now) for event in events if event.is_trace]
        for event in events:
            await self._texts.add(session_id, event.texts)
        log.last += len(numbered)
        return log.last

    async def list_after(self, session_id: str, seq: int, limit: int = 1000) -> list[LoggedEvent]:
        """See `EventLog.list_after`."""
        log = self._logs.get(session_id)
        if log is None:
            return []
        start = max(0, seq - log.last + len(log.events))
        return [_copy(event) for event in log.events[start : start + max(limit, 0)]]

    async def list_traces(self, session_id: str, task_id: str) -> list[LoggedEvent]:
        """See `EventLog.list_traces`."""
        log = self._logs.get(session_id)
        return [replace(_copy(each), is_trace=True) for each in log.traces if each.task_id == task_id] if log else []

    async def last_seq(self, session_id: str) -> int:
        """See `EventLog.last_seq`."""
        log = self._logs.get(session_id)
        return log.last if log else 0

    async def find_positions(self, session_ids: Sequence[str]) -> Mapping[str, LogPosition]:
        """See `EventLog.find_positions`."""
        found: dict[str, LogPosition] = {}
        for session_id in session_ids:
            if session_id in self._sessions:
                number = self._numbers.get(session_id)
                if number is None:
                    self._last_number += 1
                    number = self._numbers[session_id] = self._last_number
                found[session_id] = LogPosition(number, await self.last_seq(session_id))
        return found

    async def trim(self, session_id: str, keep: int) -> int:
        """See `EventLog.trim`."""
        log = self._logs.get(session_id)
        if log is None:
            return 0
        del log.traces[: max(0, len(log.traces) - max(keep, 0))]
        return self._drop(session_id, log.last - max(keep, 0))

    async def expire(self, before: datetime) -> int:
        """See `EventLog.expire`."""
        dropped = 0
        for session_id, log in self._logs.items():
            if up_to := _last_before(log.events, before):
                log.traces = [each for each in log.traces if each.at is not None and each.at >= before]
            dropped += self._drop(session_id, up_to)
        return dropped

    def _drop(self, session_id: str, up_to: int) -> int:
        log = self._logs[session_id]
        dropped = log.drop(up_to)
        if dropped:
            kept = [*log.events, *log.traces]
            self._texts.keep_only(session_id, {each for event in kept for each in event.texts})
        return dropped

    def _forget(self, session_id: str) -> None:
        self._logs.pop(session_id, None)
        self._numbers.pop(session_id, None)


def _last_before(events: Sequence[LoggedEvent], before: datetime) -> int:
    return max((event.seq for event in events if event.at is not None and event.at < before), default=0)


def _copy(event: LoggedEvent) -> LoggedEvent:
    return LoggedEvent(event.name, dict(event.data), event.task_id, event.seq, event.at)
