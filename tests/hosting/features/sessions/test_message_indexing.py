"""Messages that were stored before there was an index: the migration is quick, and a host indexes them."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from sophon import Services
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sql.store_url import resolve_url
from sophon_hosting.features.registry import list_loop_factories
from sophon_hosting.host import Host
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from tests import postgres


@pytest.fixture
def without_rows() -> None:
    postgres.without_rows()


@postgres.needs_postgres
@pytest.mark.usefixtures("without_rows")
async def test_messages_in_postgresql_are_indexed_in_parts(tmp_path: Path):
    store = host_store_from_url(postgres.MIGRATED, folder=tmp_path)
    await store.open()
    try:
        records = [SessionRecord("message", "run", Message("user", f"tea {number}")) for number in range(5)]
        await store.sessions.append("s", records, owner="ada")
        engine = create_engine(resolve_url(postgres.MIGRATED, tmp_path))
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM message_words"))
            connection.execute(text("INSERT INTO message_index VALUES ('indexed_up_to', 0)"))
        engine.dispose()
        await store.sessions.append("s", records[:1])
        assert [await store.message_search.index_missing(4) for _ in range(3)] == [4, 2, 0]
        hits = await store.message_search.search("ada", "tea")
        assert ([hit.seq for hit in hits.items], hits.is_complete) == ([6, 5, 4, 3, 2, 1], True)
    finally:
        await store.close()


async def test_a_host_indexes_the_messages_of_a_store_without_an_index(tmp_path: Path):
    store = host_store_from_url("sqlite:///s.db", folder=tmp_path)
    await store.open()
    records = [SessionRecord("message", "run", Message("user", f"tea {number}")) for number in range(450)]
    await store.sessions.append("s", records, owner="ada")
    await store.close()
    engine = create_engine(resolve_url("sqlite:///s.db", tmp_path))
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE message_words"))
        connection.execute(text("INSERT INTO message_index VALUES ('indexed_up_to', 0)"))
    engine.dispose()

    await store.open()
    assert not (await store.message_search.search("ada", "tea")).is_complete
    services = Services(store=store)
    host = Host(services, twelve(services), loops=list_loop_factories())
    await host.start()
    try:
        while not (found := await store.message_search.search("ada", "449")).is_complete:
            await asyncio.sleep(0)
        assert [hit.seq for hit in found.items] == [450]
    finally:
        await host.shutdown()
        await store.close()
