import pytest

from sophon.stores.contract import Store
from sophon_hosting.events.missed_events import (
    MAX_MISSED_BYTES,
    MAX_MISSED_EVENTS,
    MissedEvents,
    bound_missed_events,
    count_event_bytes,
    find_position,
    read_missed_events,
)
from sophon_hosting.store.events.logged_event import LoggedEvent


async def read(store: Store, known: int, max_bytes: int = MAX_MISSED_BYTES) -> MissedEvents:
    position = await find_position(store.events, "s")
    missed = await read_missed_events(store.events, "s", known, position)
    return bound_missed_events(missed, max_bytes=max_bytes)


def logged(count: int, size: int = 0) -> list[LoggedEvent]:
    return [LoggedEvent("e", {"n": n, "text": "x" * size}) for n in range(1, count + 1)]


@pytest.mark.parametrize(
    ("known", "seqs", "partial"),
    [
        (0, [1, 2, 3, 4, 5], False),
        (3, [4, 5], False),
        (5, [], False),
        (9, [1, 2, 3, 4, 5], True),
        (-1, [1, 2, 3, 4, 5], True),
    ],
)
async def test_what_is_missed_follows_what_is_known(store: Store, known: int, seqs: list[int], partial: bool) -> None:
    await store.events.append("s", logged(5))
    joined = await read(store, known)
    assert (joined.seq, [frame.seq for frame in joined.events], joined.is_partial) == (5, seqs, partial)


@pytest.mark.parametrize(("known", "first", "partial"), [(0, 3, True), (1, 3, True), (2, 3, False), (4, 5, False)])
async def test_what_was_dropped_is_said_to_be_missing(store: Store, known: int, first: int, partial: bool) -> None:
    await store.events.append("s", logged(6))
    await store.events.trim("s", 4)
    joined = await read(store, known)
    assert (joined.events[0].seq, joined.is_partial) == (first, partial)


async def test_a_log_that_was_dropped_whole_is_said_to_be_missing(store: Store) -> None:
    await store.events.append("s", logged(2))
    await store.events.trim("s", 0)
    assert (await read(store, 0)).is_partial
    assert not (await read(store, 2)).is_partial


async def test_a_long_absence_gets_the_newest_and_is_told_so(store: Store) -> None:
    await store.events.append("s", logged(MAX_MISSED_EVENTS + 5))
    joined = await read(store, 0)
    assert (len(joined.events), joined.events[0].seq, joined.is_partial) == (MAX_MISSED_EVENTS, 6, True)


async def test_a_replay_fits_into_a_frame_that_every_client_takes(store: Store) -> None:
    await store.events.append("s", logged(40, size=30_000))
    joined = await read(store, 0)
    assert ([frame.seq for frame in joined.events], joined.is_partial) == (list(range(12, 41)), True)
    assert count_event_bytes(joined.events) <= MAX_MISSED_BYTES


async def test_a_single_event_that_does_not_fit_is_left_out_and_the_client_advances(store: Store) -> None:
    await store.events.append("s", logged(2, size=1000))
    joined = await read(store, 0, max_bytes=500)
    assert ([*joined.events], joined.seq, joined.is_partial) == ([], 2, True)
    again = await read(store, joined.seq, max_bytes=500)
    assert ([*again.events], again.seq, again.is_partial) == ([], 2, False)
