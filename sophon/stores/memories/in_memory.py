"""In-memory store of long-term memory entries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.memory.keyword_search import FoundText, index_words, search_words
from sophon.stores.memories.contract import MemoryEntry, MemoryReader, vector_namespace
from sophon.stores.vectors.contract import VectorRow
from sophon.stores.vectors.in_memory import InMemoryVectorStore


class InMemoryMemoryStore:
    """The memory entries of an `InMemoryStore`; see `MemoryStore`."""

    def __init__(self, clock: Clock, vectors: InMemoryVectorStore | None = None) -> None:
        self._clock = clock
        self._vectors = InMemoryVectorStore() if vectors is None else vectors
        self._entries: dict[str, MemoryEntry] = {}
        """The entries by id, in the order in which they were written."""
        self._numbers: dict[str, int] = {}
        self._found: dict[int, FoundText] = {}
        self._numbers_by_word: dict[str, dict[int, str]] = {}
        """For each word the ids of the entries that have it, by number, oldest first."""
        self._last_number = 0

    async def write(self, entry: MemoryEntry, vector: VectorRow | None = None) -> None:
        """See `MemoryStore.write`."""
        self._remove(entry.id)
        dated = entry if entry.created_at else replace(entry, created_at=self._clock.now())
        self._last_number += 1
        words = index_words(entry.text, entry.scope)
        self._entries[entry.id], self._numbers[entry.id] = dated, self._last_number
        self._found[self._last_number] = FoundText(self._last_number, words[1:])
        for word in words:
            self._numbers_by_word.setdefault(word, {})[self._last_number] = entry.id
        if vector is not None:
            self._vectors.add([vector])

    async def search(
        self, query: str, *, scope: str | None = None, limit: int = 10, reader: MemoryReader | None = None
    ) -> list[MemoryEntry]:
        """See `MemoryStore.search`."""

        def is_visible(entry: MemoryEntry) -> bool:
            return (scope is None or entry.scope == scope) and (reader is None or reader.may_see(entry))

        if not query.strip():
            newest = sorted(filter(is_visible, self._entries.values()), key=self._age)
            return newest[: max(limit, 0)]
        ids = {number: name for name, number in self._numbers.items()}
        index = _Index(self._numbers_by_word, self._found, lambda number: is_visible(self._entries[ids[number]]))
        return [self._entries[ids[number]] for number in search_words(query, index, limit)]

    async def find(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        """See `MemoryStore.find`."""
        return {each: self._entries[each] for each in ids if each in self._entries}

    async def list_linked(self, *, scope: str, limit: int, reader: MemoryReader | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_linked`."""
        linked = [each for each in reversed(self._entries.values()) if each.entities and each.scope == scope]
        return [each for each in linked if reader is None or reader.may_see(each)][: max(limit, 0)]

    async def count(self, *, scope: str | None = None) -> int:
        """See `MemoryStore.count`."""
        return len(await self.list_all(scope=scope))

    async def delete(self, entry_id: str) -> None:
        """See `MemoryStore.delete`."""
        if not self._remove(entry_id):
            raise NotFound("memory entry", entry_id)

    async def delete_all(self, *, scope: str) -> int:
        """See `MemoryStore.delete_all`."""
        await self._vectors.delete(vector_namespace(scope))
        return sum(self._remove(entry.id) for entry in await self.list_all(scope=scope))

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_all`."""
        found = [each for each in self._entries.values() if scope is None or each.scope == scope]
        return sorted(found, key=_created_at)

    async def find_index_damage(self) -> str:
        """See `MemoryStore.find_index_damage`. There is no file that could be damaged."""
        return ""

    async def rebuild_index(self) -> int:
        """See `MemoryStore.rebuild_index`."""
        self._numbers_by_word.clear()
        for entry in self._entries.values():
            number, words = self._numbers[entry.id], index_words(entry.text, entry.scope)
            self._found[number] = FoundText(number, words[1:])
            for word in words:
                self._numbers_by_word.setdefault(word, {})[number] = entry.id
        return len(self._entries)

    def forget_session(self, session_id: str) -> None:
        """Delete the entries of a session that is deleted."""
        for entry in [*self._entries.values()]:
            if entry.session_id == session_id:
                self._remove(entry.id)

    def _remove(self, entry_id: str) -> bool:
        entry = self._entries.pop(entry_id, None)
        if entry is None:
            return False
        number = self._numbers.pop(entry_id)
        del self._found[number]
        for word in {*index_words(entry.text, entry.scope)}:
            del self._numbers_by_word[word][number]
        self._vectors.remove(vector_namespace(entry.scope), entry_id)
        return True

    def _age(self, entry: MemoryEntry) -> tuple[float, int]:
        return -_created_at(entry).timestamp(), -self._numbers[entry.id]


class _Index:
    """See `WordIndex`."""

    def __init__(
        self,
        numbers_by_word: Mapping[str, Mapping[int, str]],
        found: Mapping[int, FoundText],
        is_visible: Callable[[int], bool],
    ) -> None:
        self._numbers_by_word, self._found, self._is_visible = numbers_by_word, found, is_visible

    def count_entries(self, limit: int) -> int:
        return min(len(self._found), limit)

    def count(self, word: str, limit: int) -> int:
        return min(len(self._numbers_by_word.get(word, ())), limit)

    def list_newest(self, words: Sequence[str], limit: int) -> list[FoundText]:
        first, *others = (set[int](self._numbers_by_word.get(word, ())) for word in words)
        numbers = first.intersection(*others)
        return [self._found[each] for each in sorted(filter(self._is_visible, numbers), reverse=True)[:limit]]


def _created_at(entry: MemoryEntry) -> datetime:
    assert entry.created_at is not None
    return entry.created_at
