"""What another process writes into the store is obeyed by the host that works on it."""

from sophon import Decision
from sophon_hosting.runs.recovery.reconciler import RECONCILE_INTERVAL_SECONDS


async def swept(world) -> None:
    await world.clock.advance(RECONCILE_INTERVAL_SECONDS + 0.1)


async def test_a_cancel_that_was_written_elsewhere_ends_a_waiting_task(world, host) -> None:
    await host.queue.pause()
    receipt = await world.send(host, "hello")
    await world.store.runs.request_cancel(receipt.task_id)
    await swept(world)
    assert (await world.ended(receipt)).status == "cancelled"
    assert await host.queue.position(receipt.task_id) is None


async def test_a_cancel_that_was_written_elsewhere_ends_a_running_task(world, host) -> None:
    receipt = await world.send(host, "wait for it")
    await world.status(receipt, "running")
    await world.store.runs.request_cancel(receipt.task_id)
    await swept(world)
    assert (await world.ended(receipt)).status == "cancelled"


async def test_a_decision_that_was_written_elsewhere_wakes_its_task(world, host) -> None:
    receipt = await world.send(host, "Pay Bob")
    approval_id = await world.suspended(host, receipt)
    await world.store.approvals.decide(approval_id, Decision.approve(decided_by="ada"), world.clock.now())
    await swept(world)
    assert (await world.ended(receipt)).status == "completed"
    assert world.paid == ["Bob"]


async def test_an_entry_that_the_queue_has_lost_is_put_again(world, host) -> None:
    await host.queue.pause()
    receipt = await world.send(host, "hello")
    assert await host.queue.remove(receipt.task_id)
    await swept(world)
    await host.queue.resume()
    assert (await world.ended(receipt)).status == "completed"


async def test_what_waits_for_nothing_of_that_is_left_alone(world, host) -> None:
    receipt = await world.send(host, "Pay Bob")
    await world.suspended(host, receipt)
    await swept(world)
    await swept(world)
    assert (await world.run(receipt)).starts == 1
