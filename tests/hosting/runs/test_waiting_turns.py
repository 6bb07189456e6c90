"""Turns that wait for people cost nothing while nothing happens: what a host reads does not grow with their number."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from sophon import Decision
from sophon_hosting.host import Host
from sophon_hosting.retention import FIRST_SWEEP_SECONDS
from sophon_hosting.runs.recovery.reconciler import RECONCILE_INTERVAL_SECONDS

PASSES = 4


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements of all databases of the process, as they are executed."""
    executed: list[str] = []

    def record(_connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        executed.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        yield executed
    finally:
        event.remove(Engine, "before_cursor_execute", record)


async def passed(world) -> list[str]:
    """The statements of an idle host in some intervals of its reconciler, which asks for pending runs in each."""
    with statements() as executed:

        async def asked() -> bool:
            await world.clock.advance(RECONCILE_INTERVAL_SECONDS / 100)
            return len([each for each in executed if "WHERE signalled" in each]) >= PASSES

        await world.until(asked)
    return [each for each in executed if "FROM runs" in each or "FROM approvals" in each]


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("count", [0, 12])
async def test_the_reads_of_an_idle_host_do_not_grow_with_the_turns_that_wait(world, host: Host, count: int) -> None:
    for number in range(count):
        await world.suspended(host, await world.send(host, "Pay Bob", f"s{number}"))
    await world.clock.advance(FIRST_SWEEP_SECONDS + 1)  # the next sweep of the retention is an hour later
    for _ in range(50):  # what follows the suspension of the last turn, and the sweep, end meanwhile
        if all("WHERE signalled" in each for each in await passed(world)):
            break
    executed = await passed(world)
    assert [each for each in executed if "WHERE signalled" not in each] == []
    assert all("checkpoint" not in each for each in executed)
    assert await world.store.runs.list_pending() == []


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_an_open_request_is_read_when_it_expires_and_not_before(world, host: Host) -> None:
    await world.suspended(host, await world.send(host, "Pay Bob"))
    with statements() as executed:
        remaining = await host.approvals.expiry.expire_due()
        await host.approvals.expiry.expire_due()
    assert (executed, remaining) == ([], 300)


async def test_a_request_that_somebody_else_decided_does_not_expire(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    await world.store.approvals.decide(approval, Decision.approve(decided_by="ada"), world.clock.now())
    await world.clock.advance(301)
    await world.ended(receipt)
    [record] = await world.store.approvals.list(open_only=False)
    assert record.decision == Decision.approve(decided_by="ada")


async def test_a_request_of_an_earlier_process_expires_too(world) -> None:
    first = world.host()
    await first.start()
    receipt = await world.send(first, "Pay Bob")
    await world.suspended(first, receipt)
    await first.shutdown()
    second = world.host()
    await second.start()
    await world.clock.advance(301)
    assert (await world.ended(receipt)).status == "completed"
