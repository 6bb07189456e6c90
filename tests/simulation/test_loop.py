"""The simulated loop: virtual time, seeded order, processes that die and stand still."""

import asyncio
import contextvars
import random
import secrets
import threading
from typing import Any

import pytest

from sophon.testing.simulation import SimulatedClock, SimulatedLoop, SimulationStuck, simulate
from sophon.testing.simulation import loop as loop_module


def order_of(seed: int, *, shuffles: bool = True) -> list[int]:
    """The order in which ten tasks run that are ready at once."""

    async def main(loop: SimulatedLoop) -> list[int]:
        order: list[int] = []

        async def run(number: int) -> None:
            await asyncio.sleep(0)
            order.append(number)

        await asyncio.gather(*(run(number) for number in range(10)))
        return order

    return simulate(main, seed, shuffles=shuffles)


def test_the_seed_decides_the_order_of_tasks() -> None:
    assert order_of(1) == order_of(1)
    assert order_of(1) != order_of(2)
    assert order_of(1, shuffles=False) == [*range(10)]


def test_plain_callbacks_keep_their_order() -> None:
    async def main(loop: SimulatedLoop) -> list[int]:
        called: list[int] = []
        for number in range(20):
            loop.call_soon(called.append, number)
        await asyncio.sleep(1)
        return called

    assert simulate(main, 3) == [*range(20)]


def test_tasks_and_futures_in_a_set_have_the_order_of_their_numbers() -> None:
    async def main(loop: SimulatedLoop) -> tuple[list[int], list[int]]:
        tasks = [loop.create_task(asyncio.sleep(1)) for _ in range(20)]
        futures: list[asyncio.Future[Any]] = [loop.create_future() for _ in range(20)]
        ones, others = {*reversed(tasks)}, {*reversed(futures)}
        await asyncio.wait(ones)
        return [tasks.index(each) for each in ones], [futures.index(each) for each in others]

    first = simulate(main, 1)
    kept = [object() for _ in range(1000)]  # what comes after them has other addresses
    assert simulate(main, 1) == first
    assert len(kept) == 1000
    assert first == ([*range(20)], [*range(20)])


def test_an_hour_passes_at_once() -> None:
    async def main(loop: SimulatedLoop) -> float:
        await SimulatedClock(loop).sleep(3600)
        return loop.time()

    assert simulate(main, 1) == pytest.approx(3600, abs=0.001)


def test_timers_are_due_in_order() -> None:
    async def main(loop: SimulatedLoop) -> list[str]:
        due: list[str] = []
        for seconds in (3, 1, 2):
            loop.call_later(seconds, due.append, f"{seconds} s")
        cancelled = loop.call_later(1.5, due.append, "cancelled")
        cancelled.cancel()
        await asyncio.sleep(5)
        return due

    assert simulate(main, 1) == ["1 s", "2 s", "3 s"]


def test_a_thread_runs_in_the_loop_and_takes_virtual_time() -> None:
    async def main(loop: SimulatedLoop) -> tuple[int, bool]:
        mine = threading.get_ident()
        theirs = await asyncio.to_thread(threading.get_ident)
        return theirs == mine, loop.time() > 0

    assert simulate(main, 1) == (True, True)


def test_a_real_thread_that_reaches_the_loop_is_an_error() -> None:
    async def main(loop: SimulatedLoop) -> str:
        told: list[str] = []

        def escape() -> None:
            try:
                loop.call_soon_threadsafe(print)
            except RuntimeError as error:
                told.append(str(error))

        thread = threading.Thread(target=escape)
        thread.start()
        thread.join()
        return told[0]

    assert "a real thread calls" in simulate(main, 1)


def test_a_killed_process_runs_no_finally_and_others_go_on() -> None:
    async def main(loop: SimulatedLoop) -> list[str]:
        happened: list[str] = []

        async def live(name: str) -> None:
            try:
                await asyncio.sleep(10)
                happened.append(f"{name} went on")
            finally:
                happened.append(f"{name} ended")

        victim, _ = loop.start_process("victim", live("victim"))
        loop.start_process("other", live("other"))
        await asyncio.sleep(5)
        loop.kill(victim)
        await asyncio.sleep(60)
        return happened

    assert simulate(main, 1) == ["other went on", "other ended"]


def test_a_process_dies_at_the_step_that_was_drawn() -> None:
    async def main(loop: SimulatedLoop) -> int:
        steps: list[int] = []

        async def count() -> None:
            while True:
                steps.append(len(steps))
                await asyncio.sleep(1)

        process, _ = loop.start_process("p", count())
        process.dies_at = 5
        await asyncio.sleep(100)
        assert process.is_dead
        return process.steps

    assert simulate(main, 1) == 5


def test_a_process_that_stands_still_runs_late_what_became_due() -> None:
    async def main(loop: SimulatedLoop) -> list[float]:
        woken: list[float] = []

        async def tick() -> None:
            for _ in range(3):
                await asyncio.sleep(1)
                woken.append(round(loop.time()))

        process, _ = loop.start_process("p", tick())
        await asyncio.sleep(1.5)
        loop.stop_process(process, 10)
        await asyncio.sleep(60)
        return woken

    assert simulate(main, 1) == [1, 12, 13]


def test_the_timers_of_a_clock_die_with_their_process() -> None:
    async def main(loop: SimulatedLoop) -> list[str]:
        called: list[str] = []

        async def arm() -> None:
            SimulatedClock(loop).call_later(5, lambda: called.append("of the dead"))
            loop.call_later(5, called.append, "of the world", context=contextvars.Context())

        process, task = loop.start_process("p", arm())
        await task
        loop.kill(process)
        await asyncio.sleep(60)
        return called

    assert simulate(main, 1) == ["of the world"]


def test_what_can_never_happen_is_an_error_and_not_a_hang() -> None:
    async def main(loop: SimulatedLoop) -> None:
        await loop.create_future()

    with pytest.raises(SimulationStuck, match="nothing can run any more"):
        simulate(main, 1)


def test_a_history_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "MAX_CALLBACKS", 1000)

    async def main(loop: SimulatedLoop) -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(SimulationStuck, match="and no end"):
        simulate(main, 1)


def test_entropy_is_of_the_seed_and_afterwards_that_of_the_system() -> None:
    async def main(loop: SimulatedLoop) -> Any:
        return secrets.token_hex(), random.random(), SimulatedClock(loop).new_id()

    before = random.getstate()
    assert simulate(main, 7) == simulate(main, 7)
    assert random.getstate() == before
    assert secrets.token_hex() != secrets.token_hex()


def test_clocks_of_two_processes_need_not_agree() -> None:
    async def main(loop: SimulatedLoop) -> float:
        one, other = SimulatedClock(loop), SimulatedClock(loop, offset=30)
        other.jump(-100)
        return (other.now() - one.now()).total_seconds()

    assert simulate(main, 1) == -70
