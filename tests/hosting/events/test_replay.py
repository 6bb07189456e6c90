import pytest

from sophon.stores.contract import Store
from sophon.stores.events.contract import LoggedEvent
from sophon_hosting.events.replay import MAX_REPLAY_BYTES, MAX_REPLAY_EVENTS, read_missed_events, select_newest


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
    joined = await read_missed_events(store.events, "s", known)
    assert (joined.seq, [frame.seq for frame in joined.events], joined.is_partial) == (5, seqs, partial)


@pytest.mark.parametrize(("known", "first", "partial"), [(0, 3, True), (1, 3, True), (2, 3, False), (4, 5, False)])
async def test_what_was_dropped_is_said_to_be_missing(store: Store, known: int, first: int, partial: bool) -> None:
    await store.events.append("s", logged(6))
    await store.events.trim("s", 4)
    joined = await read_missed_events(store.events, "s", known)
    assert (joined.events[0].seq, joined.is_partial) == (first, partial)


async def test_a_log_that_was_dropped_whole_is_said_to_be_missing(store: Store) -> None:
    await store.events.append("s", logged(2))
    await store.events.trim("s", 0)
    assert (await read_missed_events(store.events, "s", 0)).is_partial
    assert not (await read_missed_events(store.events, "s", 2)).is_partial


async def test_a_long_absence_gets_the_newest_and_is_told_so(store: Store) -> None:
    await store.events.append("s", logged(MAX_REPLAY_EVENTS + 5))
    joined = await read_missed_events(store.events, "s", 0)
    assert (len(joined.events), joined.events[0].seq, joined.is_partial) == (MAX_REPLAY_EVENTS, 6, True)


async def test_a_replay_fits_into_a_frame_that_every_client_takes(store: Store) -> None:
    await store.events.append("s", logged(10, size=MAX_REPLAY_BYTES // 4))
    joined = await read_missed_events(store.events, "s", 0)
    assert ([frame.seq for frame in joined.events], joined.is_partial) == ([8, 9, 10], True)


def test_one_event_is_given_however_large() -> None:
    rows = logged(3, size=50)
    assert [row.data["n"] for row in select_newest(rows, 10)] == [3]
