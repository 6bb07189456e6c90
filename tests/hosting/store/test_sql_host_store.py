"""A host's store over the store of a chain: its tables, its parts, and what of it a turn sees."""

from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from sophon.errors import StoreError
from sophon.stores.sql.store_part import StorePart
from sophon.stores.sql_store import SqlStore
from sophon.stores.waiting_store import WaitingStore
from sophon.testing import VirtualClock
from sophon_hosting.store.api_tokens.sql import ApiTokenStore
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.sql_host_store import HOST_PARTS, SqlHostStore

URL = "sqlite:///s.db"


def tables_of(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


async def read_tables(store: SqlStore) -> set[str]:
    return await store._database.read(tables_of)


@pytest.mark.parametrize("url", [URL, "memory://"])
async def test_the_store_of_a_chain_has_no_table_of_a_host(url: str, tmp_path: Path) -> None:
    chain, host = SqlStore(url, folder=tmp_path / "chain"), SqlHostStore(url, folder=tmp_path / "host")
    for store in (chain, host):
        await store.open()
    added = {table.name for part in HOST_PARTS for table in part.tables}
    assert added
    assert added.isdisjoint(await read_tables(chain))
    assert added <= await read_tables(host)
    for store in (chain, host):
        await store.close()


async def test_a_host_adds_its_tables_to_the_store_of_a_chain_and_keeps_what_is_in_it(tmp_path: Path) -> None:
    chain = SqlStore(URL, folder=tmp_path)
    await chain.open()
    await chain.sessions.get_or_create("s", "ada")
    await chain.close()
    host = SqlHostStore(URL, folder=tmp_path)
    assert await host.maintenance.find_damage() == []
    await host.open()
    assert (await host.sessions.get("s")).owner == "ada"
    assert await host.api_tokens.list() == []
    await host.close()
    await chain.open()
    assert (await chain.sessions.get("s")).owner == "ada"
    await chain.close()


async def test_a_store_that_lacks_one_table_of_a_group_is_damaged_and_stays_so(tmp_path: Path) -> None:
    host = SqlHostStore(URL, folder=tmp_path)
    await host.open()
    lost = "goals"  # its group has the schedules, too
    await host._database.write(lambda connection: connection.execute(text(f"DROP TABLE {lost}")))
    await host.close()
    assert await host.maintenance.find_damage() == [f"the table {lost} is missing"]
    with pytest.raises(StoreError, match=f"the table {lost} is missing"):
        await host.open()


async def test_a_part_is_found_by_its_class_alone() -> None:
    store = SqlHostStore("memory://")
    assert isinstance(store, HostStore)
    assert store.part(ApiTokenStore) is store.api_tokens
    with pytest.raises(LookupError, match="StorePart is no part of the store"):
        store.part(StorePart)
    waiting = WaitingStore(store, VirtualClock(), lambda: True)
    assert await waiting.part(ApiTokenStore).list() == []
