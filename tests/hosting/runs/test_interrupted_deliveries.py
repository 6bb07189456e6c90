"""A turn that a shutdown interrupts is given back uncounted: rolling restarts must not make it a dead letter."""

import asyncio

from sophon_hosting.queue.contract import Delivery
from sophon_hosting.queue.in_memory import MemoryQueue
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns


async def test_an_interrupted_turn_comes_no_nearer_to_the_dead_letters(world) -> None:
    queue = MemoryQueue(10, max_deliveries=1, clock=world.clock)
    host = world.host(queue=queue)
    await host.start()
    await world.send(host, "wait")
    async with asyncio.timeout(60):
        while not host.running_turns or not (await queue.statistics()).in_flight:
            await asyncio.sleep(0.01)
    await host.shutdown(grace_seconds=0)
    assert (await queue.list_dead_letters(), (await queue.statistics()).waiting) == ([], 1)


class BrokenRelease(MemoryQueue):
    """A queue whose first release of a lane fails."""

    has_failed = False

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        if not self.has_failed:
            self.has_failed = True
            raise RuntimeError("the release failed")
        return await super().release_lane(session_id, task_id)


async def test_a_delivery_that_could_not_be_settled_ends_and_its_session_goes_on(world) -> None:
    queue = BrokenRelease(10, clock=world.clock)
    host = world.host(queue=queue)
    await host.start()
    await world.ended(await world.send(host, "hello"))
    assert queue.has_failed
    assert (await queue.statistics()).in_flight == 0
    second = await world.send(host, "again")
    await world.clock.advance(2)
    assert (await world.ended(second)).status == "completed"


class BrokenTake(MemoryQueue):
    """A queue that fails twice, with an error that is not its own, before it delivers anything."""

    failures = 0

    async def take(self) -> Delivery:
        if self.failures < 2:
            self.failures += 1
            raise RuntimeError("the take failed")
        return await super().take()


async def test_a_take_that_fails_is_logged_and_tried_again(world, caplog) -> None:
    queue = BrokenTake(10, clock=world.clock)
    host = world.host({"AgentExecution": {"MaxConcurrentTasks": 1}}, queue=queue)
    await host.start()
    receipt = await world.send(host, "hello")
    await world.clock.advance(1)
    await world.clock.advance(1)
    assert (await world.ended(receipt)).status == "completed"
    assert caplog.messages.count("the queue delivers nothing") == 2


async def test_a_run_that_was_taken_meanwhile_is_left_to_who_took_it(world, host) -> None:
    receipt = await world.send(host, "wait a")
    run = await world.status(receipt, "running")
    taken = host.active_runs.get(run.id)
    await host.execution.terminator.cancel_inactive(run)
    assert (host.active_runs.get(run.id) is taken, (await world.run(receipt)).status) == (True, "running")
    world.release.set()
    assert (await world.ended(receipt)).status == "completed"


def test_a_run_that_another_has_replaced_is_released_and_the_other_stays() -> None:
    active_runs, first, second = ActiveRuns(), ActiveRun("t"), ActiveRun("t")
    active_runs.add(first)
    active_runs.add(second)
    active_runs.remove(first)
    assert (first.released.is_set(), active_runs.get("t") is second) == (True, True)
    active_runs.remove(second)
    assert (second.released.is_set(), active_runs.get("t")) == (True, None)
