"""Long-term memory as turns and people use it: entries with their vectors, found by words and by similarity."""

import logging
from asyncio import gather
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Literal, Protocol, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import InputError, NotFound, SophonError
from sophon.learning.contract import Embedder, Vector
from sophon.learning.hashing_embedder import NAME_PREFIX as HASHING_PREFIX
from sophon.learning.vectors import normalize, to_blob, to_unit_vector
from sophon.memory.chunks import CHUNK_CHARACTERS, split_into_chunks
from sophon.memory.entities import collect_entities, find_entities
from sophon.memory.entry_ranking import choose_diverse, decayed, fuse
from sophon.memory.statements_to_remember import Statement, normalize_statement
from sophon.stores.memories.contract import MemoryEntry, MemoryReader, MemoryStore, vector_namespace
from sophon.stores.memories.similarity_search import MAX_VECTORS, MemoryVectorCache
from sophon.stores.vectors.contract import VectorRow, VectorStore

log = logging.getLogger("sophon")

HALF_LIFE_DAYS: Final = 180

MMR_LAMBDA: Final = 0.7

MIN_SIMILARITY: Final = 0.25
"""Cosine similarity from which an entry is found without sharing a word: unrelated texts have 0.0 to 0.2."""

KNOWN_LOOKUPS: Final = 5
"""Entries with the same words among which a statement that is already known is looked for."""

EMBEDDED_AT_ONCE: Final = 64

SECONDS_PER_DAY: Final = 86_400

MAX_ENTRIES: Final = 10_000
"""Entries of one scope: as many as are searched within a few milliseconds, and no person fills the store for others."""

MAX_TEXT_CHARACTERS: Final = 20_000
"""Characters of a corrected entry."""


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """Entry that a search has found, its score (0 to 1, the best without decay has 1), and by what it was found."""

    entry: MemoryEntry
    score: float
    source: Literal["keyword", "vector", "hybrid", "newest"]


class MemoryRepositories(Protocol):
    """The repositories of a store that hold memory."""

    @property
    def memories(self) -> MemoryStore: ...
    @property
    def vectors(self) -> VectorStore: ...


class LongTermMemory:
    """Entries of a store, with vectors if there is an `embedder`. Without one, or while it fails, words find them.

    Source of the ranking: ClawDesk, memory search.
    """

    def __init__(
        self,
        store: MemoryRepositories,
        clock: Clock,
        embedder: Embedder | None = None,
        cache: MemoryVectorCache | None = None,
    ) -> None:
        self._store, self._clock, self._embedder = store, clock, embedder
        self._cache = cache or MemoryVectorCache(clock)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, None without vectors."""
        return self._embedder

    @property
    def has_vectors(self) -> bool:
        """Whether there is an embedder."""
        return self._embedder is not None

    async def is_empty(self, scope: str) -> bool:
        """Return whether a scope has no entry; that it has none is asked again after `EMPTY_SECONDS`."""
        known = self._cache.find_state(scope)
        if known is not None:
            return known
        is_empty = not await self._store.memories.count(scope=scope)
        self._cache.note_state(scope, is_empty=is_empty)
        return is_empty

    async def write(self, entry: MemoryEntry) -> None:
        """Store an entry and its vector; replaces an entry with the same id.

        Raises StoreError, and InputError for a new entry of a scope that has `MAX_ENTRIES`.
        """
        memories = self._store.memories
        if await memories.count(scope=entry.scope) >= MAX_ENTRIES and not await memories.find([entry.id]):
            raise InputError(f"nothing more can be remembered: there are {MAX_ENTRIES} entries; forget some first")
        vectors = await self._embed([entry.text])
        row = self._to_row(entry, vectors[0]) if vectors else None
        if row is None and self._embedder is not None:
            self._cache.note_incomplete(entry.scope)
        self._cache.forget(entry.scope, entry.id)
        self._cache.note_state(entry.scope, is_empty=False)
        await self._store.memories.write(entry, row)

    async def search(
        self, query: str, *, scope: str, limit: int = 10, reader: MemoryReader | None = None
    ) -> list[FoundMemory]:
        """Return the best entries for a query, best first; an empty query returns the newest. Raises StoreError.

        Twice as many as are asked for are found by words (BM25) and by vectors, fused by reciprocal rank, decayed with
        a half-life of 180 days, and chosen by relevance and diversity (MMR, lambda 0.7).
        """
        memories = self._store.memories
        if not query.strip():
            newest = await memories.search("", scope=scope, limit=limit, reader=reader)
            return [FoundMemory(each, 1.0, "newest") for each in newest]
        words = memories.search(query, scope=scope, limit=2 * limit, reader=reader)
        # At the same time: the database looks for the words while this thread compares vectors.
        if self._embedder is None:
            by_words, near = await words, list[str]()
        else:
            by_words, near = await gather(words, self._find_near(query, scope, 2 * limit))
        entries = {each.id: each for each in by_words}
        missing = [each for each in near if each not in entries]
        for entry in (await memories.find(missing)).values() if missing else ():
            if entry.scope == scope and (reader is None or reader.may_see(entry)):
                entries[entry.id] = entry
        near = [each for each in near if each in entries]
        word_ids = [each.id for each in by_words]
        now = self._clock.now()
        scores = {
            each: decayed(score, _age_days(entries[each], now), HALF_LIFE_DAYS)
            for each, score in fuse([word_ids, near])
        }
        ranked = sorted(scores, key=lambda each: -scores[each])
        if near:
            name = self._embedder.name if self._embedder is not None else ""
            vectors = [self._cache.find(scope, name, each) for each in ranked]
            chosen = choose_diverse([scores[each] for each in ranked], vectors, limit, MMR_LAMBDA)
            ranked = [ranked[index] for index in chosen]
        by_both = {*word_ids} & {*near}
        return [
            FoundMemory(
                entries[each],
                scores[each],
                "hybrid" if each in by_both else "vector" if each in near else "keyword",
            )
            for each in ranked[:limit]
        ]

    async def learn(self, statements: Sequence[Statement], *, scope: str, origin: str) -> list[MemoryEntry]:
        """Store statements that a person made, without those that are known; return the new entries. Raises StoreError.

        They are trusted: nothing but the person's own words may have been read for them.
        """
        stored: list[MemoryEntry] = []
        for statement in statements:
            if await self.find_same(statement.text, scope):
                continue
            stored.append(
                MemoryEntry(
                    id=self._clock.new_id(),
                    text=statement.text,
                    category=statement.category,
                    scope=scope,
                    origin=origin,
                    created_at=self._clock.now(),
                    sources=(),
                    entities=collect_entities(statement.text, statement.relations),
                    relations=statement.relations,
                )
            )
            await self.write(stored[-1])
        return stored

    async def find_same(self, statement: str, scope: str) -> list[MemoryEntry]:
        """Return the trusted entries that say the same, but for case and punctuation. Raises StoreError.

        What a page said does not count: once the person says it, it is trusted.
        """
        similar = await self._store.memories.search(statement, scope=scope, limit=KNOWN_LOOKUPS)
        wanted = normalize_statement(statement)
        return [each for each in similar if each.is_trusted and normalize_statement(each.text) == wanted]

    async def forget(self, entry_id: str, *, scope: str | None = None) -> MemoryEntry:
        """Delete an entry, of one scope only if that is given, and return it. Raises NotFound, StoreError."""
        entry = (await self._store.memories.find([entry_id])).get(entry_id)
        if entry is None or (scope is not None and entry.scope != scope):
            raise NotFound("memory entry", entry_id)
        self._cache.forget(entry.scope, entry_id)
        await self._store.memories.delete(entry_id)
        return entry

    async def forget_all(self, scope: str) -> int:
        """Delete everything of a scope; return the number of entries. Raises StoreError."""
        self._cache.forget(scope)
        return await self._store.memories.delete_all(scope=scope)

    async def correct(self, entry: MemoryEntry, text: str) -> MemoryEntry:
        """Replace the text of an entry by what a person says; it is trusted from then on. Raises InputError."""
        right = check_text(text)
        # Names and relations of the old text are not those of the right one, nor are they trusted.
        corrected = replace(entry, text=right, sources=(), entities=find_entities(right), relations=())
        await self.write(corrected)
        return corrected

    async def reindex(self, scope: str) -> int:
        """Make the vectors of a scope anew; return how many, 0 without an embedder.

        Raises ModelError of the embedder, StoreError.
        """
        if self._embedder is None:
            return 0
        entries = await self._store.memories.list_all(scope=scope)
        await self._store.vectors.delete(vector_namespace(scope))
        self._cache.forget(scope)
        for start in range(0, len(entries), EMBEDDED_AT_ONCE):
            part = entries[start : start + EMBEDDED_AT_ONCE]
            vectors = await embed_long_texts(self._embedder, [each.text for each in part])
            await self._store.vectors.put([self._to_row(each, one) for each, one in zip(part, vectors, strict=True)])
        return len(entries)

    async def embed_missing(self) -> int:
        """Wait until a scope has entries without a vector, and make those of at most `EMBEDDED_AT_ONCE` of them.

        Return how many. Raises the errors of the embedder, StoreError; then they are made by a later call.
        """
        assert self._embedder is not None
        scope = await self._cache.wait_for_incomplete()
        memories, vectors, namespace = self._store.memories, self._store.vectors, vector_namespace(scope)
        have = await vectors.list_versions(namespace, self._embedder.name, MAX_VECTORS)
        missing = [each for each in await memories.list_all(scope=scope) if each.id not in have]
        part = missing[:EMBEDDED_AT_ONCE]
        if part:
            made = await self._embedder.embed([each.text for each in part])
            await vectors.put([self._to_row(each, one) for each, one in zip(part, made, strict=True)])
            # What was forgotten or corrected meanwhile must not leave the vector of its text behind.
            now = await memories.find([each.id for each in part])
            gone = [each.id for each in part if each.id not in now or now[each.id].text != each.text]
            if gone:
                await vectors.delete(namespace, gone)
                self._cache.forget(scope)
        if len(missing) == len(part):
            self._cache.note_complete(scope)
        return len(part)

    async def export(self, scope: str) -> list[dict[str, Any]]:
        """Return everything of a scope as plain JSON values, oldest first: what `import_entries` takes."""
        from sophon.stores.memories.exported_entry import entry_to_json  # lazy: it needs pydantic

        return [entry_to_json(each) for each in await self._store.memories.list_all(scope=scope)]

    async def import_entries(self, scope: str, items: Sequence[object]) -> int:
        """Store exported entries as those of a scope; return how many. Nothing is stored if one is invalid.

        An entry of the scope with the same id is replaced; one of another scope stays, and the imported one gets a new
        id. Raises InputError with the number of the invalid one, StoreError.
        """
        from sophon.stores.memories.exported_entry import parse_entries  # lazy, as above

        entries = parse_entries(items, scope)
        known = await self._store.memories.find([each.id for each in entries])
        added = sum(each.id not in known or known[each.id].scope != scope for each in entries)
        if added and await self._store.memories.count(scope=scope) + added > MAX_ENTRIES:
            raise InputError(f"{added} more entries cannot be remembered: at most {MAX_ENTRIES} of one person are kept")
        for entry in entries:
            is_foreign = entry.id in known and known[entry.id].scope != scope
            await self.write(replace(entry, id=self._clock.new_id()) if is_foreign else entry)
        return len(entries)

    async def _find_near(self, query: str, scope: str, limit: int) -> list[str]:
        """Return the ids of the entries with the most similar vectors, best first; none if the embedder fails."""
        vectors = await self._embed([query])
        if not vectors or self._embedder is None:
            return []
        name, is_first = self._embedder.name, not self._cache.has_loaded(scope, self._embedder.name)
        found = await self._cache.search(self._store.vectors, scope, name, vectors[0], limit)
        if is_first and self._cache.count_scope(scope, name) < await self._store.memories.count(scope=scope):
            self._cache.note_incomplete(scope)
        return [match.key for match in found if match.similarity >= MIN_SIMILARITY]

    async def _embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self._embedder is None:
            return []
        try:
            return await embed_long_texts(self._embedder, texts)
        except SophonError as error:
            log.debug("memory is searched by words only: %s", error)  # the embedder itself says so once
            return []

    def _to_row(self, entry: MemoryEntry, vector: Vector) -> VectorRow:
        assert self._embedder is not None
        at = entry.created_at or self._clock.now()
        namespace = vector_namespace(entry.scope)
        return VectorRow(namespace, entry.id, self._embedder.name, len(vector), to_blob(vector), {}, at)


def choose_embedder(setting: str | None, embedder: Embedder | None) -> Embedder | None:
    """Return the embedder of the memory by `Memory.Embedder`: with `Auto` none that knows spelling only."""
    if setting is None or embedder is None:
        return None
    return None if setting == "Auto" and embedder.name.startswith(HASHING_PREFIX) else embedder


def check_text(text: str) -> str:
    """Return the text of an entry without white space around it. Raises InputError."""
    if not text.strip():
        raise InputError("there is nothing to remember: the text is empty")
    if len(text) > MAX_TEXT_CHARACTERS:
        raise InputError(f"the text has {len(text)} characters; {MAX_TEXT_CHARACTERS} are allowed")
    return text.strip()


def _age_days(entry: MemoryEntry, now: datetime) -> float:
    return (now - entry.created_at).total_seconds() / SECONDS_PER_DAY if entry.created_at is not None else 0.0


async def embed_long_texts(embedder: Embedder, texts: Sequence[str]) -> Sequence[Vector]:
    """Return a vector for each text, in their order: of a long one the mean of its chunks' unit vectors, weighted by
    their lengths, with length 1. Raises what `embedder` raises.

    An embedding model reads about 512 tokens and ignores the rest without a word, so the end of a long text would never
    be found.
    """
    if all(len(text) <= CHUNK_CHARACTERS for text in texts):
        return await embedder.embed(texts)
    pieces = [[chunk.text for chunk in split_into_chunks(text)] or [text] for text in texts]
    vectors = iter(await embedder.embed([piece for each in pieces for piece in each]))
    return [_mean(each, [next(vectors) for _ in each]) for each in pieces]


def _mean(pieces: Sequence[str], vectors: Sequence[Vector]) -> Vector:
    if len(vectors) == 1:
        return vectors[0]
    import numpy as np  # lazy: few processes compare vectors

    weights = np.asarray([len(piece) for piece in pieces], dtype=np.float32)
    weighted = weights @ np.stack([normalize(vector) for vector in vectors])
    return to_unit_vector(cast(Vector, weighted))
