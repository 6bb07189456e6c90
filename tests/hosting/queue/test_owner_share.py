"""Admission of owners to a shared queue: pure rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.queue.owner_share import OwnerCounts, count_needed_departures, may_enter


@pytest.mark.parametrize(
    ("own", "occupied", "capacity", "share", "enters"),
    [
        (0, 0, 1, 0.75, True),
        (0, 1, 1, 0.75, False),
        (74, 74, 100, 0.75, True),
        (75, 75, 100, 0.75, False),
        (99, 99, 100, 1.0, True),
        (0, 99, 100, 0.75, True),
        (1, 99, 100, 0.75, False),
        (49, 49, 100, 0.5, True),
        (50, 50, 100, 0.5, False),
        (0, 130, 100, 0.75, False),
    ],
)
def test_who_may_enter(own: int, occupied: int, capacity: int, share: float, enters: bool) -> None:
    assert may_enter(own, occupied, capacity, share) is enters


@pytest.mark.parametrize(("owners", "each", "free"), [(1, 75, 25), (2, 43, 14), (10, 10, 0)])
def test_greedy_owners_share_what_there_is(owners: int, each: int, free: int) -> None:
    counts = [0] * owners
    while any(may_enter(counts[index], sum(counts), 100, 0.75) for index in range(owners)):
        for index in range(owners):
            counts[index] += may_enter(counts[index], sum(counts), 100, 0.75)
    assert max(counts) - min(counts) <= 1
    assert abs(max(counts) - each) <= 1
    assert 100 - sum(counts) >= free - 1


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 100), st.sampled_from([0.25, 0.5, 0.75, 0.9, 1.0]))
def test_the_needed_departures_are_enough_and_not_too_many(own: int, others: int, capacity: int, share: float) -> None:
    occupied = own + others
    owners = (own > 0) + (others > 0)
    if not occupied or may_enter(own, occupied, capacity, share):
        return
    needed = count_needed_departures(own, owners, occupied, capacity, share)
    assert 1 <= needed <= occupied
    assert may_enter(max(own - needed // max(owners, 1), 0), occupied - needed, capacity, share) or needed == occupied


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_is_a_part(share: float) -> None:
    with pytest.raises(ValueError, match="owner_share"):
        OwnerCounts(10, share)
