"""Cache of embeddings by the content of their texts, with a bound on the number of entries."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sophon.learning.contract import Embedder, EmbedderWrapper, Vector

MAX_ENTRIES = 2048


@runtime_checkable
class LocalEmbedder(Embedder, Protocol):
    """Embedder that computes a vector at once, in microseconds."""

    def embed_text(self, text: str) -> Vector:
        """Return the vector of one text."""
        ...


class CachingEmbedder(EmbedderWrapper):
    """Embedder that asks another one for each text once, and keeps the vectors of the `MAX_ENTRIES` used last."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()

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
        if missing:
            found |= zip(missing, await self._embedder.embed(list(missing.values())), strict=True)
        for key in dict.fromkeys(keys):
            self._add(key, found[key])
        return [found[key] for key in keys]

    def _add(self, key: bytes, vector: Vector) -> None:
        self._vectors[key] = vector
        self._vectors.move_to_end(key)
        while len(self._vectors) > MAX_ENTRIES:
            self._vectors.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
