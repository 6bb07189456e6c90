"""In-memory times of rate-limited events."""

import itertools
from collections import deque
from collections.abc import Sequence
from datetime import datetime

from sophon.clock import Clock
from sophon.security.sliding_windows import RateExceeded, RateLimit
from sophon.stores.rate_windows.contract import RateEvent
from sophon.stores.rate_windows.window_rules import check_window

MAX_EVENTS = 50_000
"""Events that are kept. Without a host nothing deletes old ones, and the windows in memory do not need them."""


class InMemoryRateWindowStore:
    """The rate windows of an `InMemoryStore`; see `RateWindowStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self._reserved: dict[int, RateEvent] = {}
        self._events: deque[RateEvent] = deque()
        self._times: dict[str, deque[datetime]] = {}

    async def reserve(self, limits: Sequence[RateLimit]) -> list[int] | RateExceeded:
        """See `RateWindowStore.reserve`."""
        now = self._clock.now()
        for limit in limits:
            newest = list(self._times.get(limit.scope, ()))[-limit.count :] if limit.count > 0 else []
            if (exceeded := check_window(limit, newest, now)) is not None:
                return exceeded
        added = {next(self._numbers): RateEvent(limit.scope, now) for limit in limits}
        self.put(list(added.values()))
        self._reserved |= added
        while len(self._reserved) > MAX_EVENTS:
            del self._reserved[next(iter(self._reserved))]
        return list(added)

    async def cancel(self, numbers: Sequence[int]) -> None:
        """See `RateWindowStore.cancel`."""
        for number in numbers:
            event = self._reserved.pop(number, None)
            if event is not None and event in self._events:
                self._events.remove(event)
                self._times[event.scope].remove(event.at)

    async def add(self, events: Sequence[RateEvent]) -> None:
        """See `RateWindowStore.add`."""
        self.put(events)

    def put(self, events: Sequence[RateEvent]) -> None:
        """Add events."""
        for event in events:
            self._events.append(event)
            self._times.setdefault(event.scope, deque()).append(event.at)
        while len(self._events) > MAX_EVENTS:
            self._drop_oldest()

    async def load(self, scope: str, since: datetime, limit: int) -> list[datetime]:
        """See `RateWindowStore.load`."""
        newest = list(self._times.get(scope, ()))[-limit:] if limit > 0 else []
        return sorted(at for at in newest if at > since)

    async def expire(self, before: datetime) -> int:
        """See `RateWindowStore.expire`."""
        kept = [event for event in self._events if event.at >= before]
        deleted = len(self._events) - len(kept)
        self._events.clear()
        self._times.clear()
        self.put(kept)
        return deleted

    def _drop_oldest(self) -> None:
        scope = self._events.popleft().scope
        times = self._times[scope]
        if times:
            times.popleft()
        if not times:
            del self._times[scope]
