"""The lease of a delivery: renewed while its turn runs, lost by a host that hangs, and never needed for an outcome."""

import logging

from sophon_hosting.queue.contract import Delivery
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.lease_renewal import LeaseRenewal
from tests.hosting.several_hosts.conftest import LEASE_SECONDS
from tests.shared_memory_queue import SharedMemoryBroker


class NoRenewal(LeaseRenewal):
    """The guarantee taken away."""

    async def _renew(self, active_run: ActiveRun, delivery: Delivery, timeout_seconds: float) -> None:
        return


async def run_long(group):
    """A task of five leases, with two hosts; how often its model was asked."""
    first = await group.join()
    receipt = await group.send(first, "wait a")
    await group.begun_by(first)
    await group.join()
    await group.pass_time(5 * LEASE_SECONDS)
    return receipt


async def test_a_task_that_takes_longer_than_a_lease_is_run_once(group) -> None:
    receipt = await run_long(group)
    group.release.set()
    run = await group.ended_later(receipt)
    assert (run.status, run.starts, group.begun) == ("completed", 1, ["a"])


async def test_without_renewal_it_is_run_again(group, monkeypatch) -> None:
    monkeypatch.setattr("sophon_hosting.worker.LeaseRenewal", NoRenewal)
    # The host that runs it may be given it again too, and waits for itself until its consumers are all busy.
    group.broker = SharedMemoryBroker(group.clock, lease_seconds=LEASE_SECONDS, max_deliveries=1_000)
    receipt = await run_long(group)

    async def has_begun_again() -> bool:
        return len(group.begun) > 1

    await group.later(has_begun_again)
    assert (await group.run(receipt)).starts > 1


async def test_a_host_that_hung_longer_than_its_lease_stops_and_leaves_no_outcome(group, caplog) -> None:
    first = await group.join()
    receipt = await group.send(first, "wait a")
    await group.begun_by(first)
    group.cut_off(first)
    other = await group.join()
    await group.pass_time(2 * LEASE_SECONDS)
    assert (len(group.begun), other.running_turns, first.running_turns) == (2, 1, 1)
    with caplog.at_level(logging.WARNING):
        group.cut_off(first, False)
        await group.pass_time(LEASE_SECONDS)
    assert (other.running_turns, first.running_turns) == (1, 0)
    assert (await group.run(receipt)).status == "running"
    assert [line for line in caplog.messages if "its lease was lost" in line]
    group.release.set()
    run = await group.ended_later(receipt)
    assert (run.status, run.starts) == ("completed", 2)
    assert (await group.names("s")).count("task_completed") == 1


async def test_a_broker_that_is_away_stops_no_turn_and_its_task_is_not_run_again(group) -> None:
    first = await group.join()
    await group.join()
    receipt = await group.send(first, "wait a")

    async def has_begun() -> bool:
        return group.begun == ["a"]

    await group.until(has_begun)
    group.broker.set_away(True)
    await group.pass_time(5)
    group.release.set()
    assert (await group.ended_later(receipt)).status == "completed"
    group.broker.set_away(False)
    await group.pass_time(2 * LEASE_SECONDS)
    run = await group.run(receipt)
    assert (run.starts, group.begun) == (1, ["a"])
    statistics = await first.queue.statistics()
    assert (statistics.waiting, statistics.in_flight) == (0, 0)


async def test_a_host_that_answers_after_its_task_was_continued_elsewhere_writes_nothing(group) -> None:
    first = await group.join()
    receipt = await group.send(first, "wait a")
    await group.begun_by(first)
    group.cut_off(first)
    await group.join()

    async def has_begun_again() -> bool:
        return len(group.begun) == 2

    await group.later(has_begun_again)
    group.release.set()
    run = await group.ended_later(receipt)
    await group.pass_time(5)
    assert (run.status, run.starts) == ("completed", 2)
    assert await group.said("s") == ["wait a", "WAIT A"]
    assert (await group.names("s")).count("task_completed") == 1
    assert first.running_turns == 0
