"""Work that runs to its end although its caller is cancelled again and again."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest

from sophon.cancellation import Cancellation, run_despite_cancellation
from sophon.clock import SystemClock
from sophon.errors import ChainError
from tests.tables import table


def work_of(ticks: int, done: list[str]) -> Callable[[], Awaitable[str]]:
    async def work() -> str:
        return await run_despite_cancellation(write(), 60)

    async def write() -> str:
        for _ in range(ticks):
            await asyncio.sleep(0)
        done.append("written")
        return "result"

    return work


async def test_without_a_cancellation_it_returns_what_the_work_returns() -> None:
    assert await work_of(3, [])() == "result"


async def test_an_error_of_the_work_is_raised() -> None:
    async def failing() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await run_despite_cancellation(failing(), 60)


@table("cancels", [1, 2, 20])
async def test_every_cancel_of_the_task_is_held_off_and_then_delivered(cancels: int) -> None:
    done: list[str] = []
    task = asyncio.ensure_future(work_of(30, done)())
    for _ in range(cancels):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), task.cancelling(), done) == (True, cancels, ["written"])


async def test_a_time_out_around_it_is_a_time_out_afterwards() -> None:
    done: list[str] = []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await work_of(30, done)()
    task = asyncio.current_task()
    assert (done, task is not None and task.cancelling()) == (["written"], 0)


async def test_a_cancelled_scope_around_it_ends_afterwards() -> None:
    done: list[str] = []
    with anyio.CancelScope() as scope:
        asyncio.get_running_loop().call_soon(scope.cancel)
        await work_of(30, done)()
        await asyncio.sleep(0)
    assert (done, scope.cancelled_caught) == (["written"], True)


async def test_work_that_hangs_is_cancelled_some_time_after_the_cancellation() -> None:
    ended: list[str] = []

    async def hanging() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    task = asyncio.ensure_future(run_despite_cancellation(hanging(), 0))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    assert (task.cancelled(), ended) == (True, ["cancelled"])
    with pytest.raises(TimeoutError, match="not finished"):
        await run_despite_cancellation(hanging(), 0, is_cancelled=True)


async def test_work_that_does_not_let_itself_be_cancelled_is_given_up() -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    with pytest.raises(TimeoutError, match="not finished"):
        await run_despite_cancellation(stubborn(), 0, is_cancelled=True)
    release.set()
    await asyncio.sleep(0)


async def test_a_turn_that_was_cancelled_does_not_begin_again() -> None:
    cancellation = Cancellation()
    cancellation.request()
    with pytest.raises(ChainError, match="was cancelled"):
        await cancellation.begin()


async def test_a_turn_whose_end_is_recorded_starts_nothing() -> None:
    cancellation = Cancellation()
    await cancellation.begin()
    await cancellation.checkpoint(SystemClock())
    cancellation.is_end_recorded = True
    with pytest.raises(asyncio.CancelledError):
        await cancellation.checkpoint(SystemClock())
