"""Vectors of texts of any length: one longer than a chunk has the mean of its chunks' vectors.

An embedding model reads about 512 tokens and ignores the rest without a word, so the end of a long text would never be
found.
"""

from collections.abc import Sequence
from typing import cast

from sophon.learning.contract import Embedder, Vector
from sophon.learning.vectors import normalize, to_unit_vector
from sophon.memory.chunks import CHUNK_CHARACTERS, split_into_chunks


async def embed_long_texts(embedder: Embedder, texts: Sequence[str]) -> Sequence[Vector]:
    """Return a vector for each text, in their order: of a long one the mean of its chunks' unit vectors, weighted by
    their lengths, with length 1. Raises what `embedder` raises.
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
