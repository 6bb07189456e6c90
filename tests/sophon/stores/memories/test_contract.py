"""What every store promises about long-term memory."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sophon.errors import NotFound
from sophon.stores.contract import Store
from sophon.stores.memories.contract import MemoryEntry
from sophon.testing import VirtualClock


async def ids(store: Store, query: str, scope: str | None = None, limit: int = 10) -> list[str]:
    return [entry.id for entry in await store.memories.search(query, scope=scope, limit=limit)]


async def test_an_entry_is_kept_as_it_was_written(store: Store):
    entry = MemoryEntry("1", "likes \ud83d tea\x00", "preference", "ada", "chat", datetime(2026, 1, 1, tzinfo=UTC))
    await store.memories.write(entry)
    assert await store.memories.list_all() == [entry]


@pytest.mark.parametrize("sources", [None, (), ("http.request https://example.org", "files.read a.txt")])
async def test_what_an_entry_may_come_from_is_kept(store: Store, sources: tuple[str, ...] | None):
    await store.memories.write(MemoryEntry("1", "tea", sources=sources))
    (entry,) = await store.memories.search("tea")
    assert entry.sources == sources
    assert entry.is_trusted is (sources == ())


async def test_an_entry_without_a_date_gets_that_of_the_day(store: Store, clock: VirtualClock):
    await store.memories.write(MemoryEntry("1", "tea"))
    assert (await store.memories.list_all())[0].created_at == clock.now()


async def test_a_date_in_another_zone_is_the_same_moment(store: Store):
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    await store.memories.write(MemoryEntry("1", "tea", created_at=moment))
    assert (await store.memories.list_all())[0].created_at == moment


async def test_an_entry_with_the_same_id_is_replaced_and_counts_as_new(store: Store):
    for entry in (MemoryEntry("1", "tea"), MemoryEntry("2", "milk"), MemoryEntry("1", "coffee")):
        await store.memories.write(entry)
    assert [entry.text for entry in await store.memories.list_all()] == ["milk", "coffee"]


async def test_all_gives_the_oldest_first_of_one_scope_or_of_all(store: Store, clock: VirtualClock):
    await store.memories.write(MemoryEntry("new", "x", created_at=clock.now() + timedelta(days=1)))
    await store.memories.write(MemoryEntry("old", "x"))
    await store.memories.write(MemoryEntry("bobs", "x", scope="bob"))
    assert [entry.id for entry in await store.memories.list_all()] == ["old", "bobs", "new"]
    assert [entry.id for entry in await store.memories.list_all(scope="bob")] == ["bobs"]


async def test_search_finds_the_entries_that_share_words_the_best_first(store: Store):
    texts = {"a": "the cat sleeps", "b": "Ada has a cat called Tom", "c": "it rains", "d": "catalogue of the shop"}
    for name, text in texts.items():
        await store.memories.write(MemoryEntry(name, text))
    assert await ids(store, "what is Ada's cat called") == ["b", "a"]
    assert await ids(store, "Cats") == ["a", "b"]
    assert await ids(store, "dog") == []


async def test_search_keeps_to_its_scope_and_limit(store: Store):
    for number in range(5):
        await store.memories.write(MemoryEntry(str(number), "cat", scope="ada" if number % 2 else "bob"))
    assert await ids(store, "cat", scope="ada") == ["3", "1"]
    assert await ids(store, "cat", limit=2) == ["4", "3"]
    assert await ids(store, "cat", limit=0) == []


async def test_an_empty_query_gives_the_newest(store: Store):
    for number in range(4):
        await store.memories.write(MemoryEntry(str(number), "x"))
    assert await ids(store, "  ", limit=3) == ["3", "2", "1"]


async def test_a_forgotten_entry_is_gone(store: Store):
    await store.memories.write(MemoryEntry("1", "cat"))
    await store.memories.delete("1")
    assert await ids(store, "cat") == []
    with pytest.raises(NotFound):
        await store.memories.delete("1")
