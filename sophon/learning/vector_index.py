"""Vector index: the nearest vectors by cosine similarity. Exact with numpy, or approximate with usearch when large."""

import importlib.util
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from sophon.lazy_dataclass import dataclass
from sophon.learning.contract import Vector
from sophon.learning.vectors import normalize

if TYPE_CHECKING:
    from sophon.learning.vectors import FloatArray

FIRST_ROWS: Final = 64
"""Rows of a new matrix; it doubles when it is full, up to the bound of the index."""

MAX_MAXIMA: Final = 32
"""Results up to which the maximum is looked for again and again, which is faster than a partial sort."""

APPROXIMATE_FROM: Final = 200_000
"""Bound from which an index uses usearch where it is installed: exact search takes 60 microseconds per 1,000."""


@dataclass(frozen=True, slots=True)
class Match:
    """Entry of an index, and its cosine similarity to the query, -1 to 1."""

    key: str
    similarity: float


class VectorIndex(Protocol):
    """Vectors by key, at most `max_entries`: beyond that the one that was added first is dropped."""

    def add(self, key: str, vector: Vector) -> None:
        """Add a vector, or replace that of the key. Raises ValueError for another number of dimensions."""
        ...

    def remove(self, key: str) -> None:
        """Remove a vector; an unknown key is ignored."""
        ...

    def search(self, vector: Vector, limit: int = 5) -> list[Match]:
        """Return the nearest entries, best first. Raises ValueError for another number of dimensions."""
        ...

    def __contains__(self, key: str) -> bool: ...

    def __len__(self) -> int: ...


def create_index(dimensions: int, max_entries: int, *, approximate_from: int = APPROXIMATE_FROM) -> VectorIndex:
    """Return an exact index, or a usearch index if `max_entries` is at least `approximate_from` and it is installed."""
    if max_entries >= approximate_from and importlib.util.find_spec("usearch") is not None:
        return ApproximateIndex(dimensions, max_entries)
    return ExactIndex(dimensions, max_entries)


class ExactIndex:
    """Exact vector index: a matrix of float32 with a row per vector of length 1. See `VectorIndex`."""

    def __init__(self, dimensions: int, max_entries: int) -> None:
        import numpy as np  # lazy: see `normalize`

        self._dimensions, self._max_entries = dimensions, max_entries
        self._matrix: FloatArray = np.zeros((min(FIRST_ROWS, max_entries), dimensions), np.float32)
        self._row_keys: list[str] = []
        self._rows: dict[str, int] = {}
        """Row by key, in order of addition."""

    def add(self, key: str, vector: Vector) -> None:
        """See `VectorIndex.add`."""
        unit = check_dimensions(normalize(vector), self._dimensions)
        row = self._rows.pop(key, None)
        if row is None:
            row = self._free_row()
            self._row_keys[row : row + 1] = [key]
        self._rows[key] = row
        self._matrix[row] = unit

    def remove(self, key: str) -> None:
        """See `VectorIndex.remove`. The last row takes the place of the removed one."""
        row = self._rows.pop(key, None)
        if row is None:
            return
        last_key = self._row_keys.pop()
        if last_key != key:
            self._matrix[row] = self._matrix[len(self._row_keys)]
            self._row_keys[row], self._rows[last_key] = last_key, row

    def search(self, vector: Vector, limit: int = 5) -> list[Match]:
        """See `VectorIndex.search`."""
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

    @property
    def size_bytes(self) -> int:
        """Bytes of the matrix."""
        return self._matrix.nbytes

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


class ApproximateIndex:
    """Vector index over a graph of neighbours (HNSW), of the package usearch. See `VectorIndex`."""

    def __init__(self, dimensions: int, max_entries: int) -> None:
        from usearch.index import Index  # lazy: an optional package

        self._dimensions, self._max_entries = dimensions, max_entries
        self._index: Any = Index(ndim=dimensions, metric="cos", dtype="f32")
        self._numbers: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        self._next_number = 0

    def add(self, key: str, vector: Vector) -> None:
        """See `VectorIndex.add`."""
        unit = check_dimensions(normalize(vector), self._dimensions)
        self.remove(key)
        if len(self._numbers) == self._max_entries:
            self.remove(next(iter(self._numbers)))
        number, self._next_number = self._next_number, self._next_number + 1
        self._index.add(number, unit)
        self._numbers[key], self._keys[number] = number, key

    def remove(self, key: str) -> None:
        """See `VectorIndex.remove`."""
        number = self._numbers.pop(key, None)
        if number is not None:
            del self._keys[number]
            self._index.remove(number)

    def search(self, vector: Vector, limit: int = 5) -> list[Match]:
        """See `VectorIndex.search`. A near entry may be missed."""
        unit = check_dimensions(normalize(vector), self._dimensions)
        limit = min(limit, len(self._numbers))
        if limit < 1:
            return []
        found: Any = self._index.search(unit, limit)
        return [Match(self._keys[int(each.key)], 1.0 - float(each.distance)) for each in found]

    def __contains__(self, key: str) -> bool:
        return key in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)


def check_dimensions(vector: "FloatArray", dimensions: int) -> "FloatArray":
    """Return the vector. Raises ValueError if it has another number of dimensions."""
    if len(vector) != dimensions:
        raise ValueError(f"a vector of {len(vector)} dimensions cannot be compared with those of {dimensions}")
    return vector
