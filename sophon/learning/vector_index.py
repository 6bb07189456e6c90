"""Vector index: the nearest vectors by cosine similarity, exact, with numpy.

Not a graph of neighbours (HNSW, usearch): building it costs 80 times as much at each start, and a search saves less
than a millisecond of a turn whose model call takes hundreds; docs/learning.md has the figures.
"""

from typing import TYPE_CHECKING, Final, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.contract import Vector
from sophon.learning.vectors import normalize

if TYPE_CHECKING:
    from sophon.learning.vectors import FloatArray

FIRST_ROWS: Final = 64
"""Rows of a new matrix; it doubles when it is full, up to the bound of the index."""

MAX_MAXIMA: Final = 32
"""Results up to which the maximum is looked for again and again, which takes 7 µs where a partial sort takes 28,
of the 42 of a route that is chosen by similarity."""


@dataclass(frozen=True, slots=True)
class Match:
    """Entry of an index, and its cosine similarity to the query, -1 to 1."""

    key: str
    similarity: float


class ExactIndex:
    """Vectors by key, at most `max_entries`: beyond that the one that was added first is dropped.

    A matrix of float32 has a row per vector of length 1.
    """

    def __init__(self, dimensions: int, max_entries: int) -> None:
        import numpy as np  # lazy: see `normalize`

        self._dimensions, self._max_entries = dimensions, max_entries
        self._matrix: FloatArray = np.zeros((min(FIRST_ROWS, max_entries), dimensions), np.float32)
        self._row_keys: list[str] = []
        self._rows: dict[str, int] = {}
        """Row by key, in order of addition."""

    def add(self, key: str, vector: Vector) -> None:
        """Add a vector, or replace that of the key. Raises ValueError for another number of dimensions."""
        unit = check_dimensions(normalize(vector), self._dimensions)
        row = self._rows.pop(key, None)
        if row is None:
            row = self._free_row()
            self._row_keys[row : row + 1] = [key]
        self._rows[key] = row
        self._matrix[row] = unit

    def remove(self, key: str) -> None:
        """Remove a vector; an unknown key is ignored. The last row takes the place of the removed one."""
        row = self._rows.pop(key, None)
        if row is None:
            return
        last_key = self._row_keys.pop()
        if last_key != key:
            self._matrix[row] = self._matrix[len(self._row_keys)]
            self._row_keys[row], self._rows[last_key] = last_key, row

    def search(self, vector: Vector, limit: int = 5) -> list[Match]:
        """Return the nearest entries, best first. Raises ValueError for another number of dimensions."""
        import numpy as np

        unit = check_dimensions(normalize(vector), self._dimensions)
        count = len(self._row_keys)
        limit = min(limit, count)
        if limit < 1:
            return []
        # Not `matrix @ unit`: BLAS would wait for threads, which takes milliseconds on a busy machine.
        similarities = np.vecdot(self._matrix[:count], unit)
        if limit > MAX_MAXIMA:
            nearest = np.sort(np.argpartition(-similarities, limit - 1)[:limit])
            ranked: list[int] = nearest[np.argsort(-similarities[nearest], kind="stable")].tolist()
            return [Match(self._row_keys[row], float(similarities[row])) for row in ranked]
        found: list[Match] = []
        for _ in range(limit):
            row = int(similarities.argmax())
            found.append(Match(self._row_keys[row], float(similarities[row])))
            similarities[row] = -np.inf
        return found

    def find(self, key: str) -> Vector | None:
        """Return the vector of a key, with length 1; None if there is none."""
        row = self._rows.get(key)
        return None if row is None else cast(Vector, self._matrix[row])

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._row_keys)

    def _free_row(self) -> int:
        """Return the row for another vector: the next one, or that of the oldest vector."""
        import numpy as np

        count = len(self._row_keys)
        if count == self._max_entries:
            return self._rows.pop(next(iter(self._rows)))
        if count == len(self._matrix):
            larger: FloatArray = np.zeros((min(count * 2, self._max_entries), self._dimensions), np.float32)
            larger[:count] = self._matrix
            self._matrix = larger
        return count


def check_dimensions(vector: "FloatArray", dimensions: int) -> "FloatArray":
    """Return the vector. Raises ValueError if it has another number of dimensions."""
    if len(vector) != dimensions:
        raise ValueError(f"a vector of {len(vector)} dimensions cannot be compared with those of {dimensions}")
    return vector
