"""Places for running tools: so many at once, a serial one alone, first come first served, and nothing is ever lost."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.context.tool_limiter import ToolLimiter
from tests.properties import examples


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Visitors:
    """Tasks that take a place, hold it until they are told to go, and say what they saw."""

    def __init__(self, limit: int) -> None:
        self.places = ToolLimiter(limit)
        self.inside: list[int] = []
        self.entered: list[int] = []
        self.serials: set[int] = set()
        self.tasks: list[asyncio.Task[None]] = []
        self.leave: list[asyncio.Event] = []

    def come(self, serial: bool) -> None:
        number = len(self.tasks)
        if serial:
            self.serials.add(number)
        self.leave.append(asyncio.Event())
        self.tasks.append(asyncio.ensure_future(self._visit(number, serial)))

    async def _visit(self, number: int, serial: bool) -> None:
        async with self.places.slot(serial=serial):
            self.entered.append(number)
            self.inside.append(number)
            assert len(self.inside) <= self.places.limit
            assert not (self.serials & set(self.inside)) or len(self.inside) == 1
            try:
                await self.leave[number].wait()
            finally:
                self.inside.remove(number)

    async def close(self) -> None:
        for event in self.leave:
            event.set()
        for task in self.tasks:
            with suppress(asyncio.CancelledError):
                await task


async def test_a_waiter_that_is_passed_over_after_its_cancellation_ends_as_cancelled() -> None:
    places = ToolLimiter(1)
    await places.acquire(serial=False)
    first, second = (asyncio.ensure_future(places.acquire(serial=False)) for _ in range(2))
    await settle()

    first.cancel()
    places.release()  # in the same moment, before the cancelled one has woken
    await settle()

    assert first.cancelled()
    assert second.done()
    assert not second.cancelled()
    places.release()
    assert places.has_capacity(serial=True)


async def test_a_cancelled_serial_waiter_lets_the_ones_behind_it_go_on() -> None:
    visitors = Visitors(4)
    for serial in (False, True, False):
        visitors.come(serial)
    await settle()

    visitors.tasks[1].cancel()
    await settle()

    assert visitors.inside == [0, 2]
    await visitors.close()


async def test_one_that_is_cancelled_in_the_moment_of_its_admission_gives_its_place_back() -> None:
    places = ToolLimiter(1)
    await places.acquire(serial=False)
    waiter = asyncio.ensure_future(places.acquire(serial=False))
    await settle()
    places.release()
    waiter.cancel()
    await settle()

    assert waiter.cancelled()
    assert places.has_capacity(serial=True)


STEPS = st.lists(
    st.tuples(st.sampled_from(["come", "come alone", "leave", "cancel", "let run"]), st.integers(0, 30)), max_size=40
)


@settings(max_examples=examples(75))
@given(STEPS, st.integers(1, 4))
def test_whatever_comes_goes_and_is_cancelled_every_place_is_free_in_the_end(
    steps: Sequence[tuple[str, int]], limit: int
) -> None:
    asyncio.run(_play(steps, limit))


async def _play(steps: Sequence[tuple[str, int]], limit: int) -> None:
    visitors = Visitors(limit)
    for what, number in steps:
        if what.startswith("come"):
            visitors.come(serial=what == "come alone")
        elif what == "let run":
            await settle()
        elif visitors.tasks:
            number %= len(visitors.tasks)
            visitors.leave[number].set() if what == "leave" else visitors.tasks[number].cancel()
    await settle()
    await visitors.close()

    assert visitors.inside == []
    # Two that were let in at the same moment may take their first step in any order.
    assert limit > 1 or visitors.entered == sorted(visitors.entered)
    assert visitors.places.has_capacity(serial=True)
    assert not visitors.places._waiting


async def test_the_way_in_costs_no_switch_when_there_is_room() -> None:
    places = ToolLimiter(2)
    taking = places.acquire(serial=False)
    with pytest.raises(StopIteration):
        taking.send(None)
