"""Long-term memory: found by words and similarity, decayed and diverse; exported, imported, corrected, forgotten."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from sophon.errors import InputError, NotFound, ProviderUnavailable
from sophon.learning.contract import Vector
from sophon.memory.relations import Relation
from sophon.memory.statements_to_remember import Statement
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.memories.contract import MemoryEntry, MemoryReader, vector_namespace
from sophon.stores.memories.long_term_memory import MAX_ENTRIES, LongTermMemory, choose_embedder
from sophon.testing import VirtualClock


class Topics:
    """Embedder with a number per topic, which knows that a feline is a cat, and reads the beginning of a text only."""

    read_characters = 2000

    name, dimensions = "topics", 3

    def __init__(self) -> None:
        self.fails = False

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self.fails:
            raise ProviderUnavailable("down")
        topics = (("cat", "feline"), ("tea",), ("rain",))
        read = [text[: self.read_characters] for text in texts]
        return [[float(any(word in text for word in topic)) for topic in topics] for text in read]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
def topics() -> Topics:
    return Topics()


@pytest.fixture
def memory(clock: VirtualClock, topics: Topics) -> LongTermMemory:
    return LongTermMemory(InMemoryStore(clock=clock), clock, topics)


def entry(name: str, text: str, **fields: object) -> MemoryEntry:
    return MemoryEntry(name, text, **{"scope": "ada", "sources": (), **fields})  # pyright: ignore[reportArgumentType]


async def found(memory: LongTermMemory, query: str, **options: object) -> list[tuple[str, str]]:
    options = {"scope": "ada", **options}
    return [(each.entry.id, each.source) for each in await memory.search(query, **options)]  # pyright: ignore[reportArgumentType]


async def test_a_person_has_as_many_entries_as_the_bound_and_others_are_not_concerned(memory: LongTermMemory):
    for number in range(MAX_ENTRIES):
        await memory._store.memories.write(entry(f"e{number}", "some rain"))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(InputError, match="forget some first"):
        await memory.write(entry("one more", "some rain"))
    await memory.write(entry("e0", "a corrected text"))
    await memory.write(entry("of another", "some rain", scope="eve"))
    await memory.forget("e1", scope="ada")
    await memory.write(entry("one more", "some rain"))


async def test_words_and_vectors_are_fused(memory: LongTermMemory):
    for name, text in (("both", "a cat"), ("meaning", "a feline"), ("neither", "some rain")):
        await memory.write(entry(name, text))
    assert await found(memory, "cat") == [("both", "hybrid"), ("meaning", "vector")]


async def test_without_an_embedder_that_answers_words_find(memory: LongTermMemory, topics: Topics):
    await memory.write(entry("cat", "a cat"))
    topics.fails = True
    await memory.write(entry("late", "a cat too"))
    assert sorted(await found(memory, "cat")) == [("cat", "keyword"), ("late", "keyword")]
    topics.fails = False
    assert await memory.reindex("ada") == 2
    assert {source for _, source in await found(memory, "cat")} == {"hybrid"}


async def test_the_end_of_a_long_entry_is_found_by_its_vector(memory: LongTermMemory):
    await memory.write(entry("long", "rain " * 600 + "a feline " * 200))
    assert await found(memory, "cat") == [("long", "vector")]


async def test_an_old_entry_gives_way_to_a_new_one(memory: LongTermMemory, clock: VirtualClock):
    await memory.write(entry("old", "cat", created_at=clock.now() - timedelta(days=720)))
    await memory.write(entry("new", "a cat that is called Tom and sleeps all day"))
    assert [name for name, _ in await found(memory, "cat")] == ["new", "old"]


async def test_what_repeats_the_best_gives_way_to_another_answer(memory: LongTermMemory):
    for name, text in (("cat", "cat"), ("again", "cat cat"), ("tea", "a cup of tea for the cats' owner, with feeling")):
        await memory.write(entry(name, text.replace("cats'", "cat") if name != "tea" else "tea cat"))
    assert "tea" in [name for name, _ in await found(memory, "cat tea", limit=2)]


async def test_vectors_of_other_scopes_and_readers_find_nothing(memory: LongTermMemory):
    await memory.write(entry("bobs", "a feline", scope="bob"))
    await memory.write(entry("theirs", "a feline", reach="session", session_id="s"))
    assert await found(memory, "cat", reader=MemoryReader("other")) == []
    assert await found(memory, "cat", reader=MemoryReader("s")) == [("theirs", "vector")]


async def test_an_export_is_imported_as_it_was(memory: LongTermMemory, clock: VirtualClock):
    await memory.write(entry("1", "a cat", reach="session", session_id="s", entities=("Tom",), origin="hub/s"))
    await memory.write(entry("2", "read on a page", sources=("http.request https://example.org",)))
    items = await memory.export("ada")
    again = LongTermMemory(InMemoryStore(clock=clock), clock)
    assert await again.import_entries("ada", items) == 2
    assert await again.export("ada") == items
    assert await memory.import_entries("bob", items) == 2
    assert (len(await memory.export("bob")), len(await memory.export("ada"))) == (2, 2)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"text": "  "}, "entry 2 .* text"),
        ({"created_at": "2026-01-01T00:00:00"}, "entry 2 .* created_at"),
        ({"created_at": "0001-01-01T00:00:00+14:00"}, "entry 2 .* created_at"),
        ({"category": "rumour"}, "entry 2 .* category"),
        ({"unknown": 1}, "entry 2 .* unknown"),
    ],
)
async def test_nothing_is_imported_if_one_entry_is_invalid(memory: LongTermMemory, change: dict, problem: str):
    good = {"id": "a", "text": "cat", "created_at": "2026-01-01T00:00:00+00:00"}
    with pytest.raises(InputError, match=problem):
        await memory.import_entries("ada", [good, {**good, "id": "b", **change}])
    assert await memory.export("ada") == []


async def test_a_corrected_entry_is_trusted_and_found_by_its_new_text(memory: LongTermMemory):
    await memory.write(entry("1", "likes rain", sources=("http.request https://example.org",)))
    [wrong] = [each.entry for each in await memory.search("rain", scope="ada")]
    assert (await memory.correct(wrong, " likes tea ")).is_trusted
    assert (await found(memory, "rain"), await found(memory, "tea")) == ([], [("1", "hybrid")])
    with pytest.raises(InputError):
        await memory.correct(wrong, " ")


async def test_nobody_forgets_what_is_anothers(memory: LongTermMemory):
    await memory.write(entry("1", "cat"))
    with pytest.raises(NotFound):
        await memory.forget("1", scope="bob")
    assert await memory.forget_all("bob") == 0
    assert await found(memory, "feline") == [("1", "vector")]
    await memory.forget("1", scope="ada")
    assert await found(memory, "feline") == []


def test_an_embedder_that_knows_spelling_only_is_used_if_it_is_asked_for():
    class Hashing(Topics):
        name = "hashing-384"

    topics, hashing = Topics(), Hashing()
    chosen = [choose_embedder(setting, each) for setting in ("Auto", "Embeddings", None) for each in (topics, hashing)]
    assert chosen == [topics, None, topics, hashing, None, None]


async def test_entries_without_a_vector_get_one_later(memory: LongTermMemory, topics: Topics) -> None:
    topics.fails = True
    await memory.write(entry("1", "the cat sleeps"))
    with pytest.raises(ProviderUnavailable):
        await memory.embed_missing()
    topics.fails = False
    assert await memory.search("feline", scope="ada") == []
    assert await memory.embed_missing() == 1
    assert [(each.entry.id, each.source) for each in await memory.search("feline", scope="ada")] == [("1", "vector")]


async def test_the_first_search_of_a_process_notices_what_has_no_vector(clock: VirtualClock, topics: Topics) -> None:
    store = InMemoryStore(clock=clock)
    await LongTermMemory(store, clock).write(entry("1", "the cat sleeps"))
    memory = LongTermMemory(store, clock, topics)
    assert await memory.search("feline", scope="ada") == []
    assert await memory.embed_missing() == 1
    assert [each.entry.id for each in await memory.search("feline", scope="ada")] == ["1"]


async def test_what_is_forgotten_while_its_vector_is_made_leaves_none(clock: VirtualClock, topics: Topics) -> None:
    store = InMemoryStore(clock=clock)

    class Slow(Topics):
        async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
            await store.memories.delete("1")
            return await super().embed(texts)

    memory = LongTermMemory(store, clock, Slow())
    await store.memories.write(entry("1", "the cat sleeps"))
    memory._cache.note_incomplete("ada")
    await memory.embed_missing()
    assert await store.vectors.count(vector_namespace("ada")) == 0


async def test_what_a_page_said_is_learned_once_the_person_says_it(memory: LongTermMemory) -> None:
    await memory.write(entry("page", "Ada drinks tea", sources=("http.request https://example.org",)))
    [stored] = await memory.learn([Statement("Ada drinks tea.")], scope="ada", origin="learned/s")
    assert stored.is_trusted
    assert await memory.learn([Statement("ada drinks TEA")], scope="ada", origin="learned/s") == []


async def test_a_correction_has_the_names_of_the_right_text_only(memory: LongTermMemory) -> None:
    relations = (Relation("Ada", "pays", "Mallory"),)
    wrong = entry("1", "Ada pays Mallory", sources=("x",), entities=("Ada", "Mallory"), relations=relations)
    await memory.write(wrong)
    corrected = await memory.correct(wrong, "Ada pays Grace")
    assert (corrected.entities, corrected.relations) == (("Ada", "Grace"), ())


async def test_relations_are_exported_and_imported(memory: LongTermMemory) -> None:
    statement = Statement("Ada works at Heron", relations=(Relation("Ada", "works at", "Heron"),))
    [stored] = await memory.learn([statement], scope="ada", origin="learned/s")
    assert stored.entities[:2] == ("Ada", "Heron")
    await memory.import_entries("bob", await memory.export("ada"))
    [imported] = await memory.search("", scope="bob")
    assert imported.entry.relations == statement.relations
