"""A task that runs in another process is cancelled: at once with the signal, soon without, and when it is resumed."""

import asyncio

from sophon_hosting.runs.cancellation import CANCEL_TIMEOUT_SECONDS
from sophon_hosting.runs.recovery.reconciler import RECONCILE_INTERVAL_SECONDS


async def run_at(group):
    """Two hosts, of which the second runs a task."""
    first = await group.join()
    await first.queue.pause()
    second = await group.join()
    receipt = await group.send(first, "wait a")
    await group.begun_by(second)
    return first, second, receipt


async def cancel(group, host, receipt):
    """Cancel while time goes on; the run, and how long it took."""
    begin = group.clock.monotonic()
    task = asyncio.create_task(host.cancel(receipt.task_id))

    async def is_done() -> bool:
        return task.done()

    await group.later(is_done)
    return task.result(), group.clock.monotonic() - begin


async def test_the_signal_stops_it_at_once(group) -> None:
    first, second, receipt = await run_at(group)
    run, seconds = await cancel(group, first, receipt)
    assert (run.status, second.running_turns) == ("cancelled", 0)
    assert seconds <= CANCEL_TIMEOUT_SECONDS
    assert (await group.names("s")).count("task_cancelled") == 1


async def test_a_lost_signal_costs_a_reconcile_interval(group) -> None:
    first, second, receipt = await run_at(group)
    group.network.is_cut = True
    run, seconds = await cancel(group, first, receipt)
    assert (run.status, run.cancel_requested) == ("running", True)
    assert seconds <= CANCEL_TIMEOUT_SECONDS + 0.5
    await group.pass_time(RECONCILE_INTERVAL_SECONDS)
    assert (await group.ended(receipt)).status == "cancelled"
    assert second.running_turns == 0


async def test_a_dead_host_stops_nothing_but_whoever_gets_its_task_does_not_run_it(group) -> None:
    first, second, receipt = await run_at(group)
    await group.kill(second)
    run, _ = await cancel(group, first, receipt)
    assert run.status == "running"
    await first.queue.resume()
    run = await group.ended_later(receipt)
    assert (run.status, group.begun) == ("cancelled", ["a"])


async def test_what_waits_is_cancelled_by_whoever_is_asked_and_once(group) -> None:
    first, second = await group.join(), await group.join()
    for host in (first, second):
        await host.queue.pause()
    receipt = await group.send(first, "hello")
    for host in (second, first):
        run, _ = await cancel(group, host, receipt)
        assert run.status == "cancelled"
    assert (await group.names("s")).count("task_cancelled") == 1
    assert (await first.queue.statistics()).waiting == 0


async def test_what_waits_for_a_person_is_cancelled_elsewhere_and_frees_its_lane(group) -> None:
    first = await group.join()
    receipt = await group.send(first, "Pay Bob")
    await group.suspended(first, receipt)
    second = await group.join()
    run, _ = await cancel(group, second, receipt)
    assert run.status == "cancelled"
    assert (await group.ended_later(await group.send(second, "hello"))).status == "completed"


async def test_a_task_is_cancelled_while_the_broker_is_away_and_its_lane_is_free_afterwards(group) -> None:
    host = await group.join()
    receipt = await group.send(host, "Pay Bob")
    await group.suspended(host, receipt)
    group.broker.set_away(True)
    run, _ = await cancel(group, host, receipt)
    assert run.status == "cancelled"
    group.broker.set_away(False)
    assert (await group.ended_later(await group.send(host, "hello"))).status == "completed"
