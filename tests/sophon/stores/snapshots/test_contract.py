"""What every store promises about the metadata of snapshots."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from sophon.stores.contract import Store
from sophon.stores.snapshots.stored_snapshot import SnapshotEvent, SnapshotFile

T0 = datetime(2026, 11, 23, 12, 0, 0, 123456, UTC)
FILE = SnapshotFile("notes/a \ud83d.txt", True, "ab" * 32, 7, 0o640, "i.0")


def event(number: int, owner: str = "ann", at: datetime | None = None) -> SnapshotEvent:
    return SnapshotEvent(
        id=f"{owner}-{number}",
        owner=owner,
        at=at or T0 + timedelta(hours=number),
        session_id="s\x00",
        run_id="r/1",
        call_id="c",
        tool="files.write",
        files=[FILE, SnapshotFile("new", existed=False)],
    )


async def add(store: Store, count: int, owner: str = "ann") -> None:
    await store.snapshots.add([event(number, owner) for number in range(1, count + 1)])


async def numbers(store: Store, owner: str = "ann") -> list[int]:
    return [each.number for each in await store.snapshots.list(owner)]


async def is_intact(store: Store, owner: str = "ann") -> bool:
    return (await store.snapshots.verify(owner)).broken is None


async def test_snapshots_are_numbered_and_chained_per_owner(store: Store) -> None:
    await add(store, 2)
    await add(store, 1, "bob")
    await store.snapshots.add([event(3)])
    assert (await numbers(store), await numbers(store, "bob"), await numbers(store, "eve")) == ([3, 2, 1], [1], [])
    assert list(await store.snapshots.list_owners()) == ["ann", "bob"]
    assert (await store.snapshots.verify("ann")).count == 3
    assert [await is_intact(store, owner) for owner in ("ann", "bob", "eve")] == [True] * 3


async def test_all_fields_are_read_back(store: Store) -> None:
    whole = event(1, at=T0.astimezone(timezone(timedelta(hours=5))))
    await store.snapshots.add([whole])
    found = await store.snapshots.find("ann", 1)
    assert found is not None
    assert found.event.build_fields() == whole.build_fields()
    assert [*found.event.files] == [*whole.files]


async def test_what_belongs_to_others_does_not_exist(store: Store) -> None:
    await add(store, 1)
    assert await store.snapshots.find("bob", 1) is None
    assert await store.snapshots.find("ann", 2) is None


async def test_snapshots_are_listed_by_page(store: Store) -> None:
    await add(store, 5)
    first = await store.snapshots.list("ann", limit=2)
    rest = await store.snapshots.list("ann", before=first[-1].number)
    assert ([each.number for each in first], [each.number for each in rest]) == ([5, 4], [3, 2, 1])
    assert await store.snapshots.list("ann", limit=0) == []


async def test_concurrent_additions_get_numbers_without_gaps(store: Store) -> None:
    await asyncio.gather(*(store.snapshots.add([event(number)]) for number in range(20)))
    assert (await store.snapshots.verify("ann")).count == 20
    assert await is_intact(store)


@pytest.mark.parametrize(
    ("before", "keep", "left"),
    [(None, 2, [4, 3]), (3, 100, [4, 3]), (3, 1, [4]), (9, 100, []), (None, 100, [4, 3, 2, 1])],
)
async def test_the_oldest_are_cut_and_the_chain_is_verified_from_there(
    store: Store, before: int | None, keep: int, left: list[int]
) -> None:
    await add(store, 4)
    await add(store, 1, "bob")
    limit = None if before is None else T0 + timedelta(hours=before)
    assert await store.snapshots.expire(limit, keep) == 4 - len(left) + (before is not None)
    assert await numbers(store) == left
    assert await is_intact(store)
    await store.snapshots.add([event(5)])
    assert await numbers(store) == [5, *left]
    assert await is_intact(store)


async def test_known_ids_are_found(store: Store) -> None:
    await add(store, 2)
    assert await store.snapshots.find_ids([*(f"x{number}" for number in range(1200)), "ann-2"]) == {"ann-2"}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE snapshots SET files = replace(files, 'abab', 'cdcd') WHERE number = 2",
        "UPDATE snapshots SET tool = 'x' WHERE number = 2",
        "DELETE FROM snapshots WHERE number = 2",
    ],
)
async def test_a_changed_entry_is_found(store: Store, store_url: str, store_folder: Path, change: str) -> None:
    if not store_url.startswith("sqlite"):
        return
    await add(store, 3)
    engine = create_engine(f"sqlite:///{store_folder / store_url.rpartition('///')[2]}")
    with engine.begin() as connection:
        connection.execute(text(change))
    engine.dispose()
    assert (await store.snapshots.verify("ann")).broken == 2
