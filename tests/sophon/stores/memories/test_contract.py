"""What every store promises about long-term memory."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sophon.errors import NotFound
from sophon.memory.relations import Relation
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.memories.contract import MemoryEntry, MemoryReader, vector_namespace
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.vectors.contract import VectorRow
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
    assert await ids(store, "cat", scope="eve") == []
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


@pytest.mark.parametrize(
    ("reader", "seen"),
    [
        (None, ["agent", "all", "session"]),
        (MemoryReader("s"), ["all", "session"]),
        (MemoryReader("other", agent="critic"), ["agent", "all"]),
        (MemoryReader(), ["all"]),
        (MemoryReader("s", agent="critic", only_session=True), ["session"]),
        (MemoryReader("other", only_session=True), []),
    ],
)
async def test_a_turn_sees_what_reaches_it(store: Store, reader: MemoryReader | None, seen: list[str]):
    await store.memories.write(MemoryEntry("all", "cat", entities=("Tom",)))
    await store.memories.write(MemoryEntry("agent", "cat", reach="agent", agent="critic", entities=("Tom",)))
    await store.memories.write(MemoryEntry("session", "cat", reach="session", session_id="s", entities=("Tom",)))
    for found in (
        await store.memories.search("cat", scope="user", reader=reader),
        await store.memories.search("", scope="user", reader=reader),
        await store.memories.list_linked(scope="user", limit=9, reader=reader),
    ):
        assert sorted(entry.id for entry in found) == seen


async def test_entries_of_a_session_are_deleted_with_it(store: Store):
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hello"))])
    await store.memories.write(MemoryEntry("theirs", "cat", session_id="s"))
    await store.memories.write(MemoryEntry("other", "cat"))
    await store.sessions.delete("s")
    assert await ids(store, "cat") == ["other"]


async def test_everything_of_a_scope_is_forgotten_with_its_vectors(store: Store, clock: VirtualClock):
    for name, scope in (("1", "ada"), ("2", "ada"), ("3", "bob")):
        row = VectorRow(vector_namespace(scope), name, "e", 1, b"\0\0\x80\x3f", {}, clock.now())
        await store.memories.write(MemoryEntry(name, "cat", scope=scope), row)
    await store.memories.delete("1")
    assert [row.key for row in (await store.vectors.load_after(vector_namespace("ada"), "e", 0, 9))[0]] == ["2"]
    assert await store.memories.delete_all(scope="ada") == 1
    assert [await store.vectors.count(vector_namespace(scope)) for scope in ("ada", "bob")] == [0, 1]
    assert (await ids(store, "cat"), await store.memories.count(scope="ada")) == (["3"], 0)


async def test_entries_are_found_by_id(store: Store):
    await store.memories.write(MemoryEntry("1", "cat", entities=("Tom", "Oslo")))
    found = await store.memories.find(["1", "none"])
    assert [(key, entry.entities) for key, entry in found.items()] == [("1", ("Tom", "Oslo"))]


async def test_the_rarest_words_of_a_query_count_most(store: Store):
    for number in range(80):
        await store.memories.write(MemoryEntry(str(number), f"the report of the day {number}"))
    await store.memories.write(MemoryEntry("heron", "Heron is a bridge"))
    assert (await ids(store, "the report of the day on the heron", limit=1)) == ["heron"]
    assert len(await ids(store, "report", limit=100)) == 80


async def test_vectors_are_loaded_after_a_number(store: Store, clock: VirtualClock):
    rows = [VectorRow("n", str(number), "e", 1, b"\0\0\x80\x3f", {}, clock.now()) for number in range(3)]
    await store.vectors.put(rows[:2])
    first, number = await store.vectors.load_after("n", "e", 0, 1)
    rest, last = await store.vectors.load_after("n", "e", number, 9)
    assert ([row.key for row in first], [row.key for row in rest]) == (["0"], ["1"])
    assert await store.vectors.load_after("n", "e", last, 9) == ([], last)
    await store.vectors.put([rows[2], rows[0]])
    assert [row.key for row in (await store.vectors.load_after("n", "e", last, 9))[0]] == ["2", "0"]


async def test_the_index_of_words_is_made_anew(store: Store):
    assert await store.memories.find_index_damage() == ""
    for number in range(3):
        await store.memories.write(MemoryEntry(str(number), f"cat {number}"))
    assert await store.memories.find_index_damage() == ""
    assert await store.memories.rebuild_index() == 3
    assert await ids(store, "cats") == ["2", "1", "0"]
    await store.memories.delete("1")
    assert await ids(store, "cats") == ["2", "0"]


async def test_relations_of_an_entry_are_kept(store: Store):
    entry = MemoryEntry("1", "Ada works at Heron", relations=(Relation("Ada", "works at", "Heron"),))
    await store.memories.write(entry)
    assert [each.relations for each in await store.memories.search("heron")] == [entry.relations]
    assert (await store.memories.list_all())[0].relations == entry.relations
