"""Inputs and outputs of embedding models: bounded texts, batches, and vectors that are checked."""

from collections.abc import Iterator, Sequence
from typing import Final

from sophon.errors import ProviderUnavailable
from sophon.learning.contract import Vector
from sophon.learning.vectors import to_unit_vector
from sophon.models.providers.third_party_json import as_count, as_list, as_mapping

MAX_CHARACTERS: Final = 8000
"""Characters of a text that are embedded, its beginning; most models read 512 to 8,192 tokens."""
EMPTY: Final = "-"
"""What is embedded for a text of white space, which APIs refuse."""
BATCH_SIZE: Final = 64
"""Texts of one request."""
MAX_REPLY_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a response: 64 vectors of 4,096 numbers in JSON take 5 MB."""
TIMEOUT_SECONDS: Final = 30.0
"""Time limit of one request: a batch takes seconds, and a turn waits for it."""


def split_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in batches, each text as it is sent."""
    for start in range(0, len(texts), BATCH_SIZE):
        yield [text[:MAX_CHARACTERS].strip() or EMPTY for text in texts[start : start + BATCH_SIZE]]


def parse_vectors(found: object, count: int, source: str) -> list[Vector]:
    """Return `count` vectors of length 1 and the same number of dimensions.

    Raises ProviderUnavailable for anything else that a server sent; `source` names it.
    """
    items = as_list(found)
    if len(items) != count:
        raise ProviderUnavailable(f"{source} sent {len(items)} vectors for {count} texts")
    try:
        vectors: list[Vector] = [to_unit_vector(each) for each in items]
    except ValueError as error:
        raise ProviderUnavailable(f"{source} sent something that is no vector: {error}") from error
    if len({len(vector) for vector in vectors}) > 1:
        raise ProviderUnavailable(f"{source} sent vectors of different dimensions")
    return vectors


def order_by_index(data: object) -> list[object]:
    """Return the field `embedding` of each object, in the order of their fields `index`."""
    items = [as_mapping(each) for each in as_list(data)]
    positions = [as_count(each.get("index")) for each in items]
    if None not in positions:
        items = [item for _, item in sorted(zip(positions, items, strict=True), key=lambda pair: pair[0] or 0)]
    return [item.get("embedding") for item in items]
