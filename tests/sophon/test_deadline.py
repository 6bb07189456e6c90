"""Deadlines by the wall clock, which jumps forward when a computer wakes up and backward when its time is corrected."""

import asyncio
from datetime import timedelta

import pytest

from sophon.deadline import RECHECK_SECONDS, Deadline, next_check_seconds, timeout_at
from sophon.testing import VirtualClock
from tests.tables import table

HOUR = 3600.0


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


def in_an_hour(clock: VirtualClock) -> Deadline:
    return Deadline.of(clock.now() + timedelta(hours=1), clock)


def test_a_deadline_is_reached_at_its_time(clock) -> None:
    deadline = in_an_hour(clock)
    clock.advance(HOUR - 1)
    assert deadline.remaining_seconds(clock) == 1
    clock.advance(1)
    assert deadline.remaining_seconds(clock) <= 0


def test_a_jump_forward_reaches_it(clock) -> None:
    deadline = in_an_hour(clock)
    clock.jump(2 * HOUR)
    assert deadline.remaining_seconds(clock) <= 0


def test_a_jump_backward_does_not_move_it_away(clock) -> None:
    deadline = in_an_hour(clock)
    clock.jump(-24 * HOUR)
    assert deadline.remaining_seconds(clock) == HOUR


@table(("remaining", "seconds"), [(None, RECHECK_SECONDS), (5.0, 5.0), (-1.0, 0.0), (HOUR, 30.0)])
def test_the_wall_clock_is_looked_at_often_enough(remaining: float | None, seconds: float) -> None:
    assert next_check_seconds(remaining) == seconds


@pytest.mark.parametrize(("jump", "passed"), [(0.0, HOUR), (2 * HOUR, RECHECK_SECONDS), (-24 * HOUR, HOUR)])
async def test_a_timeout_at_a_deadline_ends_in_time(clock, jump: float, passed: float) -> None:
    async def wait() -> None:
        async with timeout_at(in_an_hour(clock), clock):
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await clock.advance(0)
    clock.jump(jump)
    await clock.advance(passed - 1)
    assert not waiting.done()
    await clock.advance(1)
    with pytest.raises(TimeoutError):
        await waiting


async def test_what_ends_before_its_deadline_leaves_no_timer(clock) -> None:
    async with timeout_at(in_an_hour(clock), clock) as scope:
        pass
    await clock.advance(2 * HOUR)
    assert not scope.expired()
