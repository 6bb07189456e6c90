"""Cache of embeddings by the content of their texts, with a bound on the number of entries."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.contract import Embedder, EmbedderWrapper, Vector

DEFAULT_ENTRIES = 2048


@dataclass(frozen=True, slots=True)
class EmbeddingCacheStatistics:
    """Entries now, and texts that were found (`hits`) and not found (`misses`) since the start."""

    entries: int
    hits: int
    misses: int


@runtime_checkable
class LocalEmbedder(Embedder, Protocol):
    """Embedder that computes a vector at once, in microseconds."""

    def embed_text(self, text: str) -> Vector:
        """Return the vector of one text."""
        ...


class CachingEmbedder(EmbedderWrapper):
    """Embedder that asks another one for each text once, and keeps the vectors of the `max_entries` used last."""

    def __init__(self, embedder: Embedder, max_entries: int = DEFAULT_ENTRIES) -> None:
        super().__init__(embedder)
        self._max_entries = max_entries
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._hits = self._misses = 0

    def find(self, text: str) -> Vector | None:
        """Return the vector of a text that is in the cache, or that a `LocalEmbedder` computes; None if there is none.

        No model is asked.
        """
        found = self._vectors.get(_digest(text))
        if found is None and isinstance(self._embedder, LocalEmbedder):
            found = self._embedder.embed_text(text)
            self._add(_digest(text), found)
        return found

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """See `Embedder.embed`. Texts that are not in the cache are embedded in one call."""
        keys = [_digest(text) for text in texts]
        found = {key: vector for key in keys if (vector := self._vectors.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        self._hits += sum(key in found for key in keys)
        self._misses += len(missing)
        if missing:
            found |= zip(missing, await self._embedder.embed(list(missing.values())), strict=True)
        for key in dict.fromkeys(keys):
            self._add(key, found[key])
        return [found[key] for key in keys]

    def statistics(self) -> EmbeddingCacheStatistics:
        """Return the current counts."""
        return EmbeddingCacheStatistics(len(self._vectors), self._hits, self._misses)

    def _add(self, key: bytes, vector: Vector) -> None:
        self._vectors[key] = vector
        self._vectors.move_to_end(key)
        while len(self._vectors) > self._max_entries:
            self._vectors.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
