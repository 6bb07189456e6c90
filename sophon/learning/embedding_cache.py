"""Cache of embeddings by the content of their texts, with a bound on the number of entries."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from sophon.lazy_dataclass import dataclass
from sophon.learning.contract import Embedder, Vector

DEFAULT_ENTRIES = 2048


@dataclass(frozen=True, slots=True)
class EmbeddingCacheStatistics:
    """Entries now, and texts that were found (`hits`) and not found (`misses`) since the start."""

    entries: int
    hits: int
    misses: int


class CachingEmbedder:
    """Embedder that asks another one for each text once, and keeps the vectors of the `max_entries` used last."""

    def __init__(self, embedder: Embedder, max_entries: int = DEFAULT_ENTRIES) -> None:
        self._embedder, self._max_entries = embedder, max_entries
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._hits = self._misses = 0

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """See `Embedder.dimensions`."""
        return self._embedder.dimensions

    def find(self, text: str) -> Vector | None:
        """Return the vector of a text that is in the cache; None if it is not. Asks nobody."""
        return self._vectors.get(_digest(text))

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
            self._vectors[key] = found[key]
            self._vectors.move_to_end(key)
        while len(self._vectors) > self._max_entries:
            self._vectors.popitem(last=False)
        return [found[key] for key in keys]

    def statistics(self) -> EmbeddingCacheStatistics:
        """Return the current counts."""
        return EmbeddingCacheStatistics(len(self._vectors), self._hits, self._misses)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
