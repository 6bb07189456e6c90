"""Live hosts: each states what it is, and warns once of another with other settings, by section and never by value."""

import logging
from typing import Any

import pytest

from sophon import Services
from sophon.errors import StoreError
from sophon.settings import Settings
from sophon.testing import VirtualClock
from sophon_hosting.leadership.host_registry import LEASE_SECONDS
from sophon_hosting.leadership.membership import GroupMembership, ProcessRole
from sophon_hosting.leadership.settings_fingerprint import compute_fingerprint, list_differences
from sophon_hosting.store.sql_host_store import SqlHostStore


def member(store: SqlHostStore, clock: VirtualClock, role: ProcessRole, **settings: Any) -> GroupMembership:
    services = Services(store=store, clock=clock, settings=settings)
    return GroupMembership(services, role=role, is_shared=True)


async def test_live_hosts_are_listed_until_they_stop_or_are_killed() -> None:
    clock = VirtualClock(auto=False)
    store = SqlHostStore("memory://", clock=clock)
    members = [member(store, clock, role) for role in ("serve", "hub", "worker")]
    for each in members:
        each.start()
        await clock.advance(1)
    assert [host.role for host in await members[0].list_hosts()] == ["serve", "hub", "worker"]
    await members[1].stop()
    assert [host.role for host in await members[0].list_hosts()] == ["serve", "worker"]
    members[2]._task.cancel()  # type: ignore[union-attr]  # pyright: ignore - killed: it releases nothing
    await clock.advance(LEASE_SECONDS + 1)
    assert [host.role for host in await members[0].list_hosts()] == ["serve"]
    await members[0].stop()


async def test_what_differs_is_told_once_and_without_values(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock(auto=False)
    store = SqlHostStore("memory://", clock=clock)
    first = member(store, clock, "serve")
    second = member(store, clock, "serve", Queue={"Capacity": 4711}, Hub={"Port": 4712})
    with caplog.at_level(logging.WARNING, "sophon"):
        for each in (first, second):
            each.start()
            await clock.advance(1)
        await clock.advance(3 * LEASE_SECONDS)
    for each in (first, second):
        await each.stop()
    told = [record.getMessage() for record in caplog.records]
    assert [message.rpartition("what differs: ")[2] for message in told] == ["Queue", "Queue"]
    assert "471" not in "".join(told)


async def test_a_process_of_its_own_writes_no_lease() -> None:
    clock = VirtualClock(auto=False)
    store = SqlHostStore("memory://", clock=clock)
    alone = GroupMembership(Services(store=store, clock=clock))
    alone.start()
    await clock.advance(60)
    assert await store.leases.list() == []
    assert [host.role for host in await alone.list_hosts()] == ["serve"]
    await alone.stop()


def test_the_sections_of_each_process_and_secrets_do_not_count() -> None:
    one = compute_fingerprint(Settings.from_mapping({}))
    own = {"Hub": {"Port": 1}, "Logging": {"Level": "Debug"}, "Store": {"Url": "sqlite:///other.db"}}
    assert list_differences(one, compute_fingerprint(Settings.from_mapping(own))) == []
    queues = [{"Queue": {"Backend": "Redis", "Url": url}} for url in ("redis://a", "redis://b")]
    assert len({str(compute_fingerprint(Settings.from_mapping(each))) for each in queues}) == 1
    assert list_differences(one, compute_fingerprint(Settings.from_mapping({"Queue": {"Name": "two"}}))) == ["Queue"]


@pytest.mark.parametrize(
    "other",
    [
        {"Backend": "Redis", "Url": "redis://127.0.0.1:6379/7"},
        {"Backend": "Redis", "Url": "redis://127.0.0.1:6379", "Name": "other"},
        {"Backend": "RabbitMq", "Url": "amqp://127.0.0.1/"},
    ],
)
async def test_a_process_with_another_queue_on_the_same_store_is_refused(other: dict[str, str]) -> None:
    """It would take what the others run for lost, and start it again."""
    clock = VirtualClock(auto=False)
    store = SqlHostStore("memory://", clock=clock)
    queue = {"Backend": "Redis", "Url": "redis://queue.example:6379"}
    first = member(store, clock, "serve", Queue=queue)
    first.start()
    await clock.advance(1)
    await member(store, clock, "worker", Queue={**queue, "Url": "redis://:secret@10.0.0.7/0"}).check_group()
    with pytest.raises(StoreError, match=r"with the queue Redis sophon, database 0, and this one has"):
        await member(store, clock, "worker", Queue=other).check_group()
    await first.stop()
