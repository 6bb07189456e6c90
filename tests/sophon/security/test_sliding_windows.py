"""Sliding windows: their edges, concurrent reservations, what a later process knows, and how much memory they take."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.security.sliding_windows import RateExceeded, RateLimit, Reservation, SlidingWindows, round_up_seconds
from tests.tables import table

LIMIT = RateLimit("rule", "scope", 2, 10.0)
T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)


class Clock:
    """Date and monotonic seconds that a test sets."""

    def __init__(self, seconds: float = 0.0, *, started: float = 0.0) -> None:
        self.seconds, self._started = seconds, started

    def now(self) -> datetime:
        return T0 + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds - self._started


class Stored:
    """The times that a store has."""

    def __init__(self, *times: float, scope: str = "scope") -> None:
        self.times, self.scope, self.loads = sorted(times), scope, 0

    async def load(self, scope: str, since: datetime, limit: int) -> Sequence[datetime]:
        self.loads += 1
        await asyncio.sleep(0)
        found = [T0 + timedelta(seconds=at) for at in self.times if scope == self.scope]
        return [at for at in found if at > since][-limit:]


EMPTY = Stored()


async def use(windows: SlidingWindows, clock: Clock, limit: RateLimit = LIMIT, stored: Stored = EMPTY) -> float | None:
    """Let an event happen; return None, or after how many seconds it may."""
    found = await windows.reserve([limit], clock, stored.load)
    if isinstance(found, Reservation):
        found.use(clock.monotonic())
        return None
    assert found.retry_after_seconds is not None
    return found.retry_after_seconds


@table(
    ("times", "expected"),
    [
        ([0, 0], [None, None]),
        ([0, 0, 0], [None, None, 10.0]),
        ([0, 4, 9], [None, None, 1.0]),
        ([0, 4, 9.999999], [None, None, pytest.approx(0.000001)]),
        ([0, 4, 10], [None, None, None]),  # exactly at the edge the first event is out of the window
        ([0, 4, 10, 13], [None, None, None, 1.0]),
        ([0, 4, 10, 14], [None, None, None, None]),
        ([0, 1, 2, 3, 20], [None, None, 8.0, 7.0, None]),  # a refused event does not count
    ],
)
async def test_a_window_slides(times: list[float], expected: list[float | None]) -> None:
    windows, clock, found = SlidingWindows(), Clock(), list[float | None]()
    for clock.seconds in times:
        found.append(await use(windows, clock))
    assert found == expected


@given(st.lists(st.floats(0, 5), max_size=60), st.integers(1, 4))
def test_no_window_ever_holds_more_than_the_limit_and_none_is_refused_in_vain(gaps: list[float], count: int) -> None:
    async def check() -> None:
        windows, clock, used = SlidingWindows(), Clock(), list[float]()
        for gap in gaps:
            clock.seconds += gap
            inside = [at for at in used if clock.seconds - at < 10.0]
            refused = await use(windows, clock, RateLimit("rule", "scope", count, 10.0)) is not None
            assert refused == (len(inside) >= count)
            if not refused:
                used.append(clock.seconds)

    asyncio.run(check())


async def test_concurrent_reservations_do_not_exceed_the_limit_together() -> None:
    windows, clock, stored = SlidingWindows(), Clock(), Stored()
    found = await asyncio.gather(*(windows.reserve([LIMIT], clock, stored.load) for _ in range(20)))
    assert sum(isinstance(each, Reservation) for each in found) == 2
    assert {each.retry_after_seconds for each in found if isinstance(each, RateExceeded)} == {None}
    assert stored.loads == 1


async def test_a_store_that_cannot_be_read_reserves_nothing_and_is_asked_again() -> None:
    windows, clock = SlidingWindows(), Clock()

    async def fail(scope: str, since: datetime, limit: int) -> Sequence[datetime]:
        await asyncio.sleep(0)
        raise OSError("no disk")

    for _ in range(2):
        failed = await asyncio.gather(
            *(windows.reserve([LIMIT], clock, fail) for _ in range(3)), return_exceptions=True
        )
        assert [str(each) for each in failed] == ["no disk"] * 3
    assert await use(windows, clock) is None


async def test_whoever_is_cancelled_while_a_window_is_loaded_does_not_disturb_the_others() -> None:
    windows, clock, stored = SlidingWindows(), Clock(), Stored(-1.0, -1.0)
    first, second = (asyncio.ensure_future(windows.reserve([LIMIT], clock, stored.load)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert isinstance(await second, RateExceeded)


async def test_a_released_slot_is_free_again_and_releasing_twice_frees_one() -> None:
    windows, clock, one = SlidingWindows(), Clock(), RateLimit("rule", "scope", 1, 10.0)
    with await reserved(windows, clock, one) as first:
        assert isinstance(await windows.reserve([one], clock, EMPTY.load), RateExceeded)
    first.release()
    (await reserved(windows, clock, one)).use(0)
    assert await use(windows, clock, one) == 10.0


async def reserved(windows: SlidingWindows, clock: Clock, *limits: RateLimit) -> Reservation:
    found = await windows.reserve(limits, clock, EMPTY.load)
    assert isinstance(found, Reservation)
    return found


async def test_the_first_limit_that_is_full_is_named_and_takes_no_slot_of_the_others() -> None:
    windows, clock = SlidingWindows(), Clock()
    every, own = RateLimit("all", "all", 2, 10.0), RateLimit("own", "own", 1, 10.0)
    (await reserved(windows, clock, every, own)).use(0)
    refused = await windows.reserve([every, own], clock, EMPTY.load)
    assert isinstance(refused, RateExceeded)
    assert refused.limit.rule == "own"
    (await reserved(windows, clock, every)).use(0)
    refused = await windows.reserve([every, own], clock, EMPTY.load)
    assert isinstance(refused, RateExceeded)
    assert refused.limit.rule == "all"


async def test_a_later_process_starts_with_the_stored_times() -> None:
    stored, clock = Stored(-3.0, -8.0, -50.0), Clock(0.0, started=-1000.0)
    windows = SlidingWindows()
    assert await use(windows, clock, stored=stored) == pytest.approx(2.0)
    clock.seconds = 2.0
    assert await use(windows, clock, stored=stored) is None
    assert stored.loads == 1


async def test_a_time_of_a_clock_that_was_set_back_counts_as_just_now() -> None:
    stored, windows, clock = Stored(500.0, 600.0), SlidingWindows(), Clock()
    assert await use(windows, clock, stored=stored) == 10.0
    clock.seconds = 10.0
    assert await use(windows, clock, stored=stored) is None


async def test_the_store_is_not_asked_once_every_window_is_in_memory() -> None:
    stored, windows, clock = Stored(), SlidingWindows(), Clock()
    await use(windows, clock, stored=stored)
    clock.seconds = 10.0  # every earlier event of another process is out of its window
    await use(windows, clock, RateLimit("rule", "other", 1, 10.0), stored)
    assert stored.loads == 1


async def test_an_evicted_window_comes_back_from_the_store() -> None:
    windows, clock = SlidingWindows(max_windows=1), Clock(100.0)
    await use(windows, clock)
    await use(windows, clock)
    await use(windows, clock, RateLimit("rule", "other", 2, 10.0))
    assert windows.statistics() == {"windows": 1}
    assert await use(windows, clock, stored=Stored(100.0, 100.0)) == 10.0


async def test_a_window_with_a_reserved_slot_is_not_evicted() -> None:
    windows, clock, one = SlidingWindows(max_windows=1), Clock(), RateLimit("rule", "scope", 1, 10.0)
    held = await reserved(windows, clock, one)
    await use(windows, clock, RateLimit("rule", "other", 2, 10.0))
    assert isinstance(await windows.reserve([one], clock, EMPTY.load), RateExceeded)
    held.release()


@table("is_refused", [False, True])
async def test_any_number_of_senders_keep_a_bounded_number_of_windows(is_refused: bool) -> None:
    windows, clock = SlidingWindows(max_windows=200), Clock(100.0)
    every = RateLimit("all", "all", 1 if is_refused else 10**9, 60.0)

    async def load_nothing(scope: str, since: datetime, limit: int) -> Sequence[datetime]:
        return ()

    async def send(number: int) -> None:
        found = await windows.reserve([every, RateLimit("own", f"s{number}", 30, 60.0)], clock, load_nothing)
        if isinstance(found, Reservation):
            found.release()

    (await reserved(windows, clock, every)).use(clock.monotonic())
    for number in range(5_000):
        await send(number)
    assert windows.statistics()["windows"] <= 200


@table(("seconds", "expected"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.00000001, 1), (1.1, 2), (59.5, 60)])
def test_seconds_are_rounded_up(seconds: float, expected: int) -> None:
    assert round_up_seconds(seconds) == expected


@table("stored", [(), (1, 5, 9)])
async def test_of_a_calendar_period_only_its_own_events_count(stored: tuple[float, ...]) -> None:
    windows, clock, store = SlidingWindows(), Clock(20), Stored(*stored)
    day = RateLimit("day", "scope", 2, 100.0, since=T0 + timedelta(seconds=6))
    next_day = RateLimit("day", "scope", 2, 100.0, since=T0 + timedelta(seconds=21))
    found: list[bool] = []
    for limit, seconds in ((day, 20), (day, 20.5), (day, 20.9), (next_day, 21), (next_day, 22), (next_day, 23)):
        clock.seconds = seconds
        reserved = await windows.reserve([limit], clock, store.load)
        if isinstance(reserved, RateExceeded):
            assert reserved.retry_after_seconds is None
        else:
            reserved.use(clock.monotonic())
        found.append(isinstance(reserved, Reservation))

    assert found == [True, not stored, False, True, True, False]
