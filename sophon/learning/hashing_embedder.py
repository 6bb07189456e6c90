"""Hashing embedder: vectors from the words of a text and their parts, without a model; the embedded default.

It knows spelling and not meaning: texts that share words or stems are similar, synonyms are not. The method is feature
hashing with signs (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning").
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final
from zlib import crc32

from sophon.learning.contract import Vector
from sophon.learning.vectors import to_unit_vector

DEFAULT_DIMENSIONS: Final = 384
NAME_PREFIX: Final = "hashing-"
"""Beginning of the name of every hashing embedder."""
MAX_CHARACTERS: Final = 8000
"""Characters of a text that are read: its beginning."""
WORD_WEIGHT: Final = 1.0
PART_WEIGHT: Final = 0.4
"""Weight of three letters of a word, beside that of the word."""

_WORD: Final = re.compile(r"\w+")


class HashingEmbedder:
    """Embedder of `dimensions` numbers per text that needs no model, key or network; the same text, the same vector."""

    def __init__(self, dimensions: int = DEFAULT_DIMENSIONS) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions must be at least 1, not {dimensions}")
        self.dimensions = dimensions
        self.name = f"{NAME_PREFIX}{dimensions}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector of length 1 for each text; one without a word gets zeros."""
        return [self.embed_text(text) for text in texts]

    def embed_text(self, text: str) -> Vector:
        """Return the vector of one text."""
        dimensions = self.dimensions
        numbers = [0.0] * dimensions
        for word, count in Counter(_WORD.findall(text[:MAX_CHARACTERS].lower())).items():
            scale = 1.0 + math.log(count) if count > 1 else 1.0
            digest = crc32(word.encode("utf-8", "surrogatepass"))
            numbers[(digest >> 1) % dimensions] += WORD_WEIGHT * scale if digest & 1 else -WORD_WEIGHT * scale
            part_weight = PART_WEIGHT * scale
            for part in list_parts(word):
                digest = crc32(part)
                numbers[(digest >> 1) % dimensions] += part_weight if digest & 1 else -part_weight
        return to_unit_vector(numbers)


def list_parts(word: str) -> list[bytes]:
    """Return every three letters of a word, its two ends marked; none for a word of one letter."""
    framed = f"<{word}>"
    if len(framed) == 3:
        return []
    if word.isascii():
        data = framed.encode()
        return [data[start : start + 3] for start in range(len(data) - 2)]
    return [framed[start : start + 3].encode("utf-8", "surrogatepass") for start in range(len(framed) - 2)]
