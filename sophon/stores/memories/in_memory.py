"""In-memory store of long-term memory entries."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.memory.keywords import FoundText, index_words, search_words
from sophon.stores.memories.contract import MemoryEntry, MemoryReader, vector_namespace
from sophon.stores.vectors.contract import VectorRow
from sophon.stores.vectors.in_memory import InMemoryVectorStore


class InMemoryMemoryStore:
    """The memory entries of an `InMemoryStore`; see `MemoryStore`."""

    def __init__(self, clock: Clock, vectors: InMemoryVectorStore | None = None) -> None:
        self._clock = clock
        self._vectors = InMemoryVectorStore() if vectors is None else vectors
        self._found: dict[str, FoundText[MemoryEntry]] = {}
        self._numbers_by_word: dict[str, dict[int, str]] = {}
        """For each word the ids of the entries that have it, by number, oldest first."""
        self._last_number = 0

    async def write(self, entry: MemoryEntry, vector: VectorRow | None = None) -> None:
        """See `MemoryStore.write`."""
        self._remove(entry.id)
        dated = entry if entry.created_at else replace(entry, created_at=self._clock.now())
        self._last_number += 1
        words = index_words(entry.text, entry.scope)
        self._found[entry.id] = FoundText(self._last_number, words[1:], dated)
        for word in words:
            self._numbers_by_word.setdefault(word, {})[self._last_number] = entry.id
        if vector is not None:
            self._vectors.add([vector])

    async def search(
        self, query: str, *, scope: str | None = None, limit: int = 10, reader: MemoryReader | None = None
    ) -> list[MemoryEntry]:
        """See `MemoryStore.search`."""
        index = _Index(
            scope,
            list(reversed(self._found.values())),
            lambda entry: (scope is None or entry.scope == scope) and (reader is None or reader.may_see(entry)),
            self._numbers_by_word,
            self._found,
        )
        if query.strip():
            return search_words(query, index, limit)
        return [each.entry for each in sorted(index.visible(), key=_age)][: max(limit, 0)]

    async def find(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        """See `MemoryStore.find`."""
        return {each: self._found[each].entry for each in ids if each in self._found}

    async def list_linked(self, *, scope: str, limit: int, reader: MemoryReader | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_linked`."""
        entries = (each.entry for each in reversed(self._found.values()))
        linked = [each for each in entries if each.entities and each.scope == scope]
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
        found = [each.entry for each in self._found.values() if scope is None or each.entry.scope == scope]
        return sorted(found, key=_created_at)

    def forget_session(self, session_id: str) -> None:
        """Delete the entries of a session that is deleted."""
        for entry in [each.entry for each in self._found.values()]:
            if entry.session_id == session_id:
                self._remove(entry.id)

    def _remove(self, entry_id: str) -> bool:
        found = self._found.pop(entry_id, None)
        if found is None:
            return False
        for word in {*index_words(found.entry.text, found.entry.scope)}:
            del self._numbers_by_word[word][found.number]
        self._vectors.remove(vector_namespace(found.entry.scope), entry_id)
        return True


class _Index:
    """See `WordIndex`."""

    def __init__(
        self,
        scope: str | None,
        newest_first: Sequence[FoundText[MemoryEntry]],
        is_visible: Callable[[MemoryEntry], bool],
        numbers_by_word: dict[str, dict[int, str]],
        found: dict[str, FoundText[MemoryEntry]],
    ) -> None:
        self._scope, self._newest_first, self._is_visible = scope, newest_first, is_visible
        self._numbers_by_word, self._found = numbers_by_word, found

    def visible(self) -> Iterator[FoundText[MemoryEntry]]:
        """Yield what the search may see, newest first."""
        return (each for each in self._newest_first if self._is_visible(each.entry))

    def count_entries(self) -> int:
        return sum(self._scope is None or each.entry.scope == self._scope for each in self._newest_first)

    def count(self, word: str, limit: int) -> int:
        ids = self._numbers_by_word.get(word, {}).values()
        return min(sum(self._scope is None or self._found[each].entry.scope == self._scope for each in ids), limit)

    def list_newest(self, words: Sequence[str], limit: int) -> list[FoundText[MemoryEntry]]:
        having = [self._numbers_by_word.get(word, {}) for word in words]
        numbers = sorted(set.intersection(*map(set, having)), reverse=True)
        found = (self._found[having[0][number]] for number in numbers)
        return [each for each in found if self._is_visible(each.entry)][:limit]


def _age(found: FoundText[MemoryEntry]) -> tuple[float, int]:
    assert found.entry.created_at is not None
    return -found.entry.created_at.timestamp(), -found.number


def _created_at(entry: MemoryEntry) -> datetime:
    assert entry.created_at is not None
    return entry.created_at
