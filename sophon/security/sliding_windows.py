"""Sliding windows: how many events of a kind there were in the last seconds, with slots reserved for coming ones.

The windows of one process decide; a store keeps the times, for the next process and for windows that were evicted.
Reserving is one step without an await, so that concurrent turns cannot exceed a limit together.
"""

import asyncio
import math
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Protocol, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass

MAX_WINDOWS = 10_000
"""Windows in memory. The least recently used one is evicted; the store has its times. About 5 MB."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `count` events of a `scope` within any `seconds`. `rule` names the limit, `what` is what it is set for.

    All limits of one scope have the same number of seconds. With `since` only events from then on count, as in a
    calendar day; `seconds` is then at least as long as the period.
    """

    rule: str
    scope: str
    count: int
    seconds: float
    what: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class RateExceeded:
    """A limit that has no free slot. `retry_after_seconds` is None while only events that have not begun fill it, and
    for a limit with `since`, whose next period the windows do not know.
    """

    limit: RateLimit
    retry_after_seconds: float | None


LoadTimes: TypeAlias = Callable[[str, datetime, int], Awaitable[Sequence[datetime]]]
"""Returns from the store the newest times of a scope after a time, at most that many, oldest first."""


class Time(Protocol):
    """The part of `sophon.clock.Clock` that windows need. Within a process they do not follow changes of the date."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...


class _Window:
    """Times of the events of one scope, oldest first, and the number of reserved slots."""

    __slots__ = ("reserved", "seconds", "times")

    def __init__(self, seconds: float, times: list[float]) -> None:
        self.seconds, self.times, self.reserved = seconds, times, 0

    def forget_old(self, now: float) -> None:
        """Remove the events that are as old as the window is long."""
        times = self.times
        if not times or now - times[0] < self.seconds:
            return
        old = next((index for index, at in enumerate(times) if now - at < self.seconds), len(times))
        del times[:old]

    def count_since(self, now: float, since: datetime, time: Time) -> int:
        """Return the number of events from a date on."""
        return len(self.times) - bisect_left(self.times, now - (time.now() - since).total_seconds())


class Reservation:
    """Slots in some windows, until the event has happened (`use`) or will not (`release`, the end of a block)."""

    __slots__ = ("_windows", "limits")

    is_stored = False
    """Whether the store has the event already, so that whoever uses it need not store it."""

    def __init__(self, limits: Sequence[RateLimit], windows: Sequence[_Window]) -> None:
        self.limits, self._windows = limits, windows

    def use(self, now: float, counted: "Sequence[RateLimit] | None" = None) -> list[tuple[RateLimit, int]]:
        """Count the event at `now`, in monotonic seconds, against the `counted` limits, by default all of them; the
        slots of the others are given back. Return the counted limits with the number of events that each has now.
        """
        used: list[tuple[RateLimit, int]] = []
        for limit, window in zip(self.limits, self._windows, strict=True):
            if counted is None or limit in counted:
                window.times.append(now)
                used.append((limit, len(window.times)))
        self.release()
        return used

    def release(self) -> None:
        """Give the slots back; idempotent."""
        for window in self._windows:
            window.reserved -= 1
        self._windows = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


class SlidingWindows:
    """The windows of one process, at most `max_windows`; more only while all of them have reserved slots."""

    def __init__(self, max_windows: int = MAX_WINDOWS) -> None:
        self._max_windows = max_windows
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._loading: dict[str, asyncio.Future[None]] = {}
        self._complete_since: float | None = None
        """Since when every event is in a window of this process; earlier ones may be in the store alone."""

    def statistics(self) -> dict[str, int]:
        """Return the number of windows in memory."""
        return {"windows": len(self._windows)}

    async def reserve(self, limits: Sequence[RateLimit], time: Time, load: LoadTimes) -> Reservation | RateExceeded:
        """Reserve a slot of each limit, or none of them; the first limit without a free slot is returned then.

        Windows that this process does not have are loaded. Raises the errors of `load`.
        """
        while (reserved := self.reserve_known(limits, time)) is None:
            unknown = self._find_unknown(limits, time.monotonic())
            if unknown is not None:
                await self._load(unknown, time, load)
        return reserved

    def reserve_known(self, limits: Sequence[RateLimit], time: Time) -> Reservation | RateExceeded | None:
        """Reserve as `reserve` does if all windows are in memory; None if one must be loaded first."""
        now = time.monotonic()
        if self._find_unknown(limits, now) is not None:
            return None
        windows = [self._get(limit, now) for limit in limits]
        for limit, window in zip(limits, windows, strict=True):
            counted = len(window.times) if limit.since is None else window.count_since(now, limit.since, time)
            missing = counted + window.reserved - limit.count + 1
            if missing > 0:
                known = limit.since is None and missing <= counted
                self._evict(now)
                return RateExceeded(limit, window.times[missing - 1] + limit.seconds - now if known else None)
        for window in windows:
            window.reserved += 1
        self._evict(now)
        return Reservation(limits, windows)

    def _find_unknown(self, limits: Sequence[RateLimit], now: float) -> RateLimit | None:
        """Return a limit whose window is not in memory although the store may have times of it."""
        if self._complete_since is None:
            self._complete_since = now
        since = self._complete_since
        for each in limits:
            if each.scope not in self._windows and now - since < each.seconds:
                return each
        return None

    async def _load(self, limit: RateLimit, time: Time, load: LoadTimes) -> None:
        """Load a window once for all who wait for it: the calls of a round go on together, into one transaction."""
        loading = self._loading.get(limit.scope)
        if loading is None:
            loading = self._loading[limit.scope] = asyncio.ensure_future(self._load_times(limit, time, load))
            loading.add_done_callback(partial(self._end_loading, limit.scope))
        await asyncio.shield(loading)

    def _end_loading(self, scope: str, loading: asyncio.Future[None]) -> None:
        del self._loading[scope]
        if not loading.cancelled():
            loading.exception()  # whoever waited for it may be gone

    async def _load_times(self, limit: RateLimit, time: Time, load: LoadTimes) -> None:
        times = await load(limit.scope, time.now() - timedelta(seconds=limit.seconds), limit.count)
        now, date = time.monotonic(), time.now()
        # A time after the present one comes from a clock that was set back: it counts as just now.
        ages = (max((date - at).total_seconds(), 0.0) for at in times)
        self._windows[limit.scope] = _Window(limit.seconds, sorted(now - age for age in ages))

    def _get(self, limit: RateLimit, now: float) -> _Window:
        window = self._windows.get(limit.scope)
        if window is None:
            window = self._windows[limit.scope] = _Window(limit.seconds, [])
        self._windows.move_to_end(limit.scope)
        window.forget_old(now)
        return window

    def _evict(self, now: float) -> None:
        """Remove windows that are over, two for each new one, and the least recently used ones beyond the maximum."""
        for scope in tuple(islice(self._windows, 2)):
            window = self._windows[scope]
            if window.reserved:
                continue
            window.forget_old(now)
            if not window.times:
                del self._windows[scope]
        while len(self._windows) > self._max_windows:
            free = next((scope for scope, window in self._windows.items() if not window.reserved), None)
            if free is None:
                return
            del self._windows[free]
            self._complete_since = now


def round_up_seconds(seconds: float) -> int:
    """Return whole seconds after which a slot is free, at least 1."""
    return max(math.ceil(round(seconds, 6)), 1)
