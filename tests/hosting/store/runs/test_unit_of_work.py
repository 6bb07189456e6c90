"""A unit of work: what repositories collect for a turn is stored with its next transaction, or not at all."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest

from sophon.errors import SophonError
from sophon.stores import Store
from sophon.stores.audit.audit_event import AuditEvent
from sophon.stores.data_labels.contract import LabelWrite, file_key
from sophon.stores.rate_windows.contract import RateEvent
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon.stores.unit_of_work import UnitOfWork, Write, WriteKind
from sophon_hosting.store.runs.contract import InboundKey, LogWrite, Run, RunOutcome
from sophon_hosting.store.runs.sql_transactions import checkpoint_write
from tests.sophon.stores.data_labels.test_contract import SECRET
from tests.sophon.stores.route_averages.test_contract import observed
from tests.sophon.stores.snapshots.test_contract import event as snapshot
from tests.sophon.stores.sub_agents.test_contract import row as sub_agent
from tests.sophon.stores.traces.test_contract import FULL as TRACE
from tests.sophon.stores.trajectories.test_contract import FULL as TRAJECTORY
from tests.sophon.stores.vectors.test_contract import row as vector
from tests.units_of_work import collect

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ENTRY = AuditEvent(NOON, "proposed", "s")

Writes: TypeAlias = Callable[[Any], Awaitable[object]]
Reads: TypeAlias = Callable[[Any], Awaitable[object]]

COLLECTED: dict[str, tuple[Writes, Reads]] = {
    "audit": (WriteKind.AUDIT, lambda part: part.append([ENTRY]), lambda part: part.list_after(0)),
    "rate_windows": (
        WriteKind.RATE,
        lambda part: part.add([RateEvent("a", NOON)]),
        lambda part: part.load("a", datetime.min.replace(tzinfo=UTC), 9),
    ),
    "data_labels": (
        WriteKind.LABEL,
        lambda part: part.write([LabelWrite(file_key("a"), SECRET)]),
        lambda part: part.find([file_key("a")]),
    ),
    "snapshots": (WriteKind.SNAPSHOT, lambda part: part.add([snapshot(1)]), lambda part: part.list("ann")),
    "trajectories": (
        WriteKind.TRAJECTORY,
        lambda part: part.add([TrajectoryWrite(TRAJECTORY, 10)]),
        lambda part: part.list(),
    ),
    "traces": (WriteKind.TRACE, lambda part: part.add([TRACE]), lambda part: part.list()),
    "vectors": (WriteKind.VECTOR, lambda part: part.put([vector("a", 1.0)]), lambda part: part.load("n", "e", 9)),
    "route_averages": (WriteKind.ROUTE, lambda part: part.add([observed(quality=1.0)]), lambda part: part.list_all()),
    "sub_agents": (WriteKind.SUB_AGENT, lambda part: part.put([sub_agent()]), lambda part: part.list_for_task("t")),
}


@pytest.mark.parametrize("name", COLLECTED)
async def test_what_a_repository_collects_is_stored_with_the_unit_or_not_at_all(store: Store, name: str) -> None:
    kind, write, read = COLLECTED[name]
    repository = getattr(store, name)
    await store.runs.accept(Run("r", "s", "ada"))
    await store.runs.begin("r", NOON)
    writes = await collect(repository, write)
    assert ([each.kind for each in writes], bool(await read(repository))) == ([kind], False)
    with pytest.raises(StaleRun):
        await store.runs.record("s", UnitOfWork(writes, [RunFence("r", 7)]), [])
    assert not await read(repository)
    await store.runs.record("s", UnitOfWork(writes, [RunFence("r", 1)]), [])
    assert await read(repository)


async def test_a_write_that_is_refused_takes_the_others_along(store: Store) -> None:
    await store.sessions.get_or_create("s", "ada")
    writes = await collect(store.audit, lambda audit: audit.append([ENTRY]))
    writes += await collect(store.snapshots, lambda snapshots: snapshots.add([snapshot(1, at=datetime(2026, 1, 1))]))
    with pytest.raises(ValueError, match="time zone"):
        await store.runs.record("s", UnitOfWork(writes), [])
    assert (await store.audit.list_after(0), await store.snapshots.list("ann")) == ([], [])


async def test_a_unit_applies_its_kinds_in_one_order_and_each_in_that_of_its_writes(store: Store) -> None:
    await store.sessions.get_or_create("s", "ada")
    applied: list[tuple[WriteKind, int]] = []
    kinds = [WriteKind.SUB_AGENT, WriteKind.AUDIT, WriteKind.SUB_AGENT, WriteKind.CALL]
    writes = [Write(kind, lambda _, place=(kind, number): applied.append(place)) for number, kind in enumerate(kinds)]
    await store.runs.record("s", UnitOfWork(writes), [])
    assert applied == [(WriteKind.CALL, 3), (WriteKind.AUDIT, 1), (WriteKind.SUB_AGENT, 0), (WriteKind.SUB_AGENT, 2)]


async def test_an_acceptance_and_a_suspension_take_a_unit_with_them(store: Store) -> None:
    unit = UnitOfWork(await collect(store.rate_windows, lambda part: part.add([RateEvent("a", NOON)])))
    key = InboundKey("telegram", "bot", "1")

    async def count() -> int:
        return len(await store.rate_windows.load("a", datetime.min.replace(tzinfo=UTC), 9))

    assert (await store.runs.accept(Run("r", "s", "ann"), key, unit=unit)).created
    assert not (await store.runs.accept(Run("r2", "s", "ann"), key, unit=unit)).created
    with pytest.raises(SophonError):
        await store.runs.accept(Run("r", "s", "ann"), unit=unit)
    assert await count() == 1
    await store.runs.begin("r", NOON)
    await store.runs.suspend("r", {}, ["a1"], unit=unit)
    assert await count() == 2


async def test_the_outcome_clears_a_checkpoint_of_its_own_unit(store: Store) -> None:
    await store.runs.accept(Run("r", "s", "ada"))
    await store.runs.begin("r", NOON)
    unit = UnitOfWork([checkpoint_write("r", {"n": 1}, [LogWrite(0, 0, ["x"])])])
    assert (await store.runs.finish("r", RunOutcome("cancelled"), unit=unit)).is_first
    assert await store.runs.load_logs("r") == {}
