"""The usage of a run is recorded once: with its outcome, whatever process writes it, and never lost with a process."""

from datetime import UTC, datetime

from sophon.messages import Usage
from sophon.stores.usage.contract import Period, UsageRow
from sophon_hosting.runs.outcomes import subtract_usage


async def calls(world) -> int:
    return sum(total.calls for total in await world.store.usage.list_totals())


async def interrupted(world, text: str) -> object:
    """The receipt of a turn whose host was stopped in the middle of it."""
    first = world.host()
    await first.start()
    receipt = await world.send(first, text)

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    await first.shutdown(grace_seconds=0)
    world.release.set()
    return receipt


async def test_a_turn_writes_its_usage_with_its_outcome(world) -> None:
    host = world.host()
    await host.start()
    await world.ended(await world.send(host, "hello"))
    assert await calls(world) == 1


async def test_the_calls_before_a_checkpoint_count_once_although_the_turn_was_cut_off(world) -> None:
    receipt = await interrupted(world, "Stall here")
    checkpoint = (await world.run(receipt)).checkpoint
    assert [row[5] for row in checkpoint["tally"]["unrecorded"]] == [1]
    assert await calls(world) == 0
    await world.host().start()
    await world.ended(receipt)
    assert await calls(world) == 2


async def test_what_was_used_since_the_checkpoint_is_recorded_when_the_host_stops(world) -> None:
    receipt = await interrupted(world, "wait a")
    assert await calls(world) == 1
    await world.host().start()
    await world.ended(receipt)
    assert await calls(world) == 2


async def test_a_suspended_turn_that_is_cancelled_has_its_usage(world) -> None:
    host = world.host()
    await host.start()
    receipt = await world.send(host, "Pay Bob")
    await world.suspended(host, receipt)
    await host.cancel(receipt.task_id)
    await world.ended(receipt)
    assert await calls(world) == 1


def test_the_part_that_a_checkpoint_has_is_not_written_again() -> None:
    now = datetime(2026, 1, 31, tzinfo=UTC)

    def row(model: str, usage: Usage, count: int, day: str = "2026-01-31") -> UsageRow:
        return UsageRow("p", model, "reply", "s", "r", usage, Period(day, day[:7]), now, count)

    had = [row("a", Usage(20, 5, 7), 2), row("b", Usage(1, 1), 1)]
    has = [row("a", Usage(30, 6, 9), 3), row("b", Usage(1, 1), 1), row("a", Usage(4, 4), 1, "2026-02-01")]
    assert subtract_usage(has, had) == [row("a", Usage(10, 1, 2), 1), row("a", Usage(4, 4), 1, "2026-02-01")]
    assert subtract_usage(has, []) == has


async def test_a_run_whose_session_another_process_deletes_frees_the_lane_and_its_usage_counts(world, host) -> None:
    receipt = await world.send(host, "wait a")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    await world.store.sessions.delete("s")
    world.release.set()

    async def settled() -> bool:
        await world.clock.advance(1)
        queue = await host.queue.statistics()
        return queue.in_flight == queue.waiting == 0  # a run that was given back waits before it is delivered again

    await world.until(settled)
    assert await world.store.runs.find(receipt.task_id) is None
    assert (await calls(world), await world.store.usage.list_totals(session_id="s")) == (1, [])
    assert (await world.ended(await world.send(host, "hello"))).response["text"] == "HELLO"
