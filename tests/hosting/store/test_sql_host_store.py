"""A host's store over the store of a chain: its tables, its parts, and what of it a turn sees."""

from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, inspect, text

from sophon.chain.pipeline import Pipeline
from sophon.errors import CompositionError, StoreError
from sophon.services import Services
from sophon.stores.sql.store_part import StorePart
from sophon.stores.sql_store import SqlStore
from sophon.testing import VirtualClock
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.host import Host
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.turn_store import TurnDatabase, TurnStore
from sophon_hosting.store.api_tokens.sql import ApiTokenStore
from sophon_hosting.store.contract import HostStore, host_store
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.sql_host_store import HOST_PARTS, SqlHostStore
from sophon_hosting.store.tables import HOST_TABLES

URL = "sqlite:///s.db"


class _Other(StorePart):
    """A part that a program gives to its store."""

    tables = tuple(Table(name, MetaData(), Column("id", Integer, primary_key=True)) for name in ("some", "others"))


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


async def test_a_host_adds_the_tables_of_its_new_parts_to_the_store_of_an_earlier_one(tmp_path: Path) -> None:
    earlier = SqlStore(URL, folder=tmp_path, parts=HOST_PARTS[:1])
    await earlier.open()
    assert {table.name for table in HOST_TABLES} <= await read_tables(earlier)
    await earlier.close()
    host = SqlHostStore(URL, folder=tmp_path)
    await host.open()
    assert {table.name for table in host.tables} <= await read_tables(host)
    assert await host.maintenance.find_damage() == []
    await host.close()


async def test_a_session_that_a_chain_deletes_leaves_no_event_to_the_next_one(tmp_path: Path) -> None:
    chain, host = SqlStore(URL, folder=tmp_path), SqlHostStore(URL, folder=tmp_path)
    for store in (chain, host):
        await store.open()
    trace = LoggedEvent("tool_call_started", {}, is_trace=True)
    for session in ("first", "second"):
        await host.sessions.get_or_create(session)
        assert await host.events.append(session, [LoggedEvent(session, {}), trace]) == 1
        assert [each.name for each in await host.events.list_after(session, 0)] == [session]
        assert len(await host.events.list_traces(session, "")) == 1
        await chain.sessions.delete(session)
    for store in (chain, host):
        await store.close()


async def test_a_store_that_lacks_one_of_the_tables_of_a_part_is_damaged_and_stays_so(tmp_path: Path) -> None:
    store = SqlStore(URL, folder=tmp_path, parts=[_Other])
    await store.open()
    await store._database.write(lambda connection: connection.execute(text("DROP TABLE others")))
    await store.close()
    assert await store.maintenance.find_damage() == ["the table others is missing"]
    with pytest.raises(StoreError, match="the table others is missing"):
        await store.open()


async def test_a_part_is_found_by_its_class_alone() -> None:
    store = SqlHostStore("memory://")
    assert isinstance(store, HostStore)
    assert store.part(ApiTokenStore) is store.api_tokens
    with pytest.raises(LookupError, match="StorePart is no part of the store"):
        store.part(StorePart)
    clock = VirtualClock()
    turn = TurnStore(ActiveRun("r"), "s", EventBus(store.events, store.runs, clock), store, clock)
    assert await turn.part(ApiTokenStore).list() == []


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("url", [URL, "memory://"])
async def test_a_host_extends_the_store_of_a_chain_that_it_is_given(url: str, is_open: bool, tmp_path: Path) -> None:
    store = SqlStore(url, folder=tmp_path, parts=[_Other], clock=VirtualClock())
    if is_open:
        await store.open()
        await store.sessions.get_or_create("before")
    services = Services(store=store)
    async with Host(services, Pipeline([])) as host:
        own = host_store(host.services)
        assert await own.api_tokens.list() == []
        assert isinstance(own.part(_Other), _Other)
        assert (await own.sessions.find("before") is not None) == is_open
        await store.sessions.get_or_create("s")  # who gave it may go on using it
        assert await own.sessions.find("s") is not None


@pytest.mark.parametrize("url", [URL, "memory://"])
async def test_a_host_that_is_started_over_open_services_makes_its_tables(url: str, tmp_path: Path) -> None:
    async with Services(store=SqlStore(url, folder=tmp_path)) as services:
        host = Host(services, Pipeline([]))
        await host.start()
        assert await host_store(host.services).api_tokens.list() == []
        await host.shutdown()


def test_a_host_refuses_the_default_store_of_services() -> None:
    with pytest.raises(CompositionError, match="a host needs a store of runs"):
        Host(Services(), Pipeline([]))


async def test_the_store_of_the_settings_becomes_one_of_a_host(tmp_path: Path) -> None:
    services = Services.from_settings(environment={}, folder=tmp_path)
    async with Host(services, Pipeline([])) as host:
        assert await host_store(host.services).api_tokens.list() == []


def test_a_turn_has_all_that_a_store_holds_over_its_own_database() -> None:
    clock = VirtualClock()
    store = SqlHostStore("memory://", clock=clock)
    turn = TurnStore(ActiveRun("r"), "s", EventBus(store.events, store.runs, clock), store, clock)
    own = {name for name, part in vars(store).items() if hasattr(part, "_database") and not name.startswith("_")}
    assert own - {"maintenance"} >= {"sessions", "memories", "usage", "preferences", "runs", "grants"}
    for name in own - {"maintenance", "journal", "approvals"}:  # the last two wait as a whole
        assert isinstance(getattr(turn, name)._database, TurnDatabase), name


async def test_the_journal_of_a_turn_is_deleted_with_its_outcome_and_not_before() -> None:
    clock = VirtualClock()
    store = SqlHostStore("memory://", clock=clock)
    turn = TurnStore(ActiveRun("r"), "s", EventBus(store.events, store.runs, clock), store, clock)
    for run_id in ("r", "r/step"):
        await store.journal.start(run_id, "c1", "note")
        await turn.journal.delete(run_id)
    assert list(await store.journal.load_entries("r")) == ["c1"]  # the outcome may wait, and this process may die
    assert await store.journal.load_entries("r/step") == {}
