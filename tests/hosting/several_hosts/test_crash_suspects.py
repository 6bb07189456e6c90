"""Tasks whose workers died: they run one after the other, so that what kills them takes nothing along."""

import sophon_hosting.worker
from sophon_hosting.queue.contract import Delivery, NackResult
from tests.shared_memory_queue import SharedMemoryQueue


async def lose_twice(group, texts: list[str]) -> list:
    """Let two hosts die while they run all of these tasks."""
    receipts: list = []
    for count in (1, 2):
        victim = await group.join()
        receipts = receipts or [await group.send(victim, text, f"s{number}") for number, text in enumerate(texts)]

        async def has_begun(count: int = count) -> bool:
            return len(group.begun) == count * len(texts)

        await group.later(has_begun)
        await group.kill(victim)
    return receipts


async def test_what_died_twice_runs_beside_nothing_that_did(group) -> None:
    receipts = await lose_twice(group, ["wait a", "wait b", "wait c"])
    survivor = await group.join()

    async def has_begun_again() -> bool:
        return len(group.begun) > 6

    await group.later(has_begun_again)
    await group.pass_time(20)
    assert (len(group.begun), survivor.running_turns) == (7, 1)
    group.release.set()
    runs = [await group.ended_later(receipt) for receipt in receipts]
    assert [(run.status, run.starts) for run in runs] == [("completed", 3)] * 3


async def test_a_task_that_did_not_die_runs_beside_one_that_did(group) -> None:
    await lose_twice(group, ["wait a"])
    survivor = await group.join()

    async def has_begun_again() -> bool:
        return survivor.running_turns == 1

    await group.later(has_begun_again)
    await group.send(survivor, "wait b", "other")
    await group.begun_by(survivor, 2)


async def test_without_isolation_they_run_together(group, monkeypatch) -> None:
    monkeypatch.setattr(sophon_hosting.worker, "MAX_LOST_DELIVERIES", 1_000)
    await lose_twice(group, ["wait a", "wait b", "wait c"])
    survivor = await group.join()

    async def has_begun_again() -> bool:
        return survivor.running_turns == 3

    await group.later(has_begun_again)


class TakesNothingBack(SharedMemoryQueue):
    """A queue to which nothing can be given back, for a reason that is not its own."""

    failures = 0

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        self.failures += 1
        raise RuntimeError("the nack failed")


async def test_a_suspect_that_cannot_be_given_back_costs_no_place(group) -> None:
    await lose_twice(group, ["wait a", "wait b"])
    queue = TakesNothingBack(group.broker)
    survivor = await group.join({"AgentExecution": {"MaxConcurrentTasks": 2}}, queue=queue)

    async def has_failed() -> bool:
        return queue.failures == 1

    await group.later(has_failed)
    receipt = await group.send(survivor, "hello", "other")
    assert (await group.ended(receipt)).status == "completed"
