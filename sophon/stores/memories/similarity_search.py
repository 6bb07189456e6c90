"""Vectors of memory entries in the memory of the process, by scope: loaded from the store, and brought up to date."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.learning.contract import Vector
from sophon.learning.vector_index import ExactIndex, Match
from sophon.learning.vectors import from_blob
from sophon.stores.memories.contract import vector_namespace
from sophon.stores.vectors.contract import VectorRow, VectorStore

log = logging.getLogger("sophon")

MAX_VECTORS: Final = 200_000
"""Vectors that are kept of all scopes together: 300 MB with 384 dimensions. The scopes used last stay."""

ROWS_PER_READ: Final = 5000
"""Vectors that are read from the store at a time."""

THREAD_FROM: Final = 20_000
"""Vectors from which a search runs in a thread: one of 20,000 takes a millisecond."""


EMPTY_SECONDS: Final = 10.0
"""Time after which an empty scope is asked about again: another process may have written to it."""

MAX_STATES: Final = 10_000
"""Scopes of which it is kept whether they are empty."""


@dataclass(slots=True)
class ScopeVectors:
    """Vectors of one scope and embedder; `number` is that of the last one that was loaded."""

    index: ExactIndex
    number: int


class MemoryVectorCache:
    """Nearest entries of a scope by the cosine similarity of their vectors.

    What another process has stored since is loaded before each search; what it has deleted is found until the caller
    misses the entry. Vectors that cannot be read are named once per load and skipped.
    """

    def __init__(self, clock: Clock, max_vectors: int = MAX_VECTORS) -> None:
        self._clock, self._max_vectors = clock, max_vectors
        self._scopes: OrderedDict[tuple[str, str], ScopeVectors] = OrderedDict()
        self._states: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._incomplete: dict[str, None] = {}
        self._has_incomplete = asyncio.Event()

    async def search(
        self, store: VectorStore, scope: str, embedder: str, vector: Vector, limit: int
    ) -> Sequence[Match]:
        """Return the nearest entries, best first. Raises StoreError."""
        found = await self._load(store, scope, embedder, len(vector))
        if len(found.index) < THREAD_FROM:
            return found.index.search(vector, limit)
        return await self._clock.run_in_thread(lambda: found.index.search(vector, limit))

    def find(self, scope: str, embedder: str, entry_id: str) -> Vector | None:
        """Return the vector of an entry that the last search has loaded; None if there is none."""
        found = self._scopes.get((scope, embedder))
        return found.index.find(entry_id) if found is not None else None

    def find_state(self, scope: str) -> bool | None:
        """Return whether a scope is known to be empty; None if that is unknown, or was found `EMPTY_SECONDS` ago."""
        known = self._states.get(scope)
        if known is None or (known[0] and self._clock.monotonic() - known[1] >= EMPTY_SECONDS):
            return None
        return known[0]

    def note_state(self, scope: str, *, is_empty: bool) -> None:
        """Note whether a scope is empty."""
        self._states[scope] = (is_empty, self._clock.monotonic())
        self._states.move_to_end(scope)
        while len(self._states) > MAX_STATES:
            self._states.popitem(last=False)

    def note_incomplete(self, scope: str) -> None:
        """Note that a scope has entries without a vector; of more than `MAX_STATES` scopes none are noted."""
        if len(self._incomplete) < MAX_STATES:
            self._incomplete[scope] = None
            self._has_incomplete.set()

    async def wait_for_incomplete(self) -> str:
        """Wait until a scope has entries without a vector; return the one that was noted first, until it is done."""
        while not self._incomplete:
            self._has_incomplete.clear()
            await self._has_incomplete.wait()
        return next(iter(self._incomplete))

    def note_complete(self, scope: str) -> None:
        """Note that every entry of a scope has a vector."""
        self._incomplete.pop(scope, None)

    def has_loaded(self, scope: str, embedder: str) -> bool:
        """Return whether the vectors of a scope are in memory."""
        return (scope, embedder) in self._scopes

    def count_scope(self, scope: str, embedder: str) -> int:
        """Return the number of vectors of a scope that are in memory."""
        found = self._scopes.get((scope, embedder))
        return 0 if found is None else len(found.index)

    def forget(self, scope: str, entry_id: str | None = None) -> None:
        """Forget the vector of an entry, or all of a scope."""
        self._states.pop(scope, None)
        for key in [each for each in self._scopes if each[0] == scope]:
            if entry_id is None:
                del self._scopes[key]
            else:
                self._scopes[key].index.remove(entry_id)

    def count(self) -> int:
        """Return the number of vectors."""
        return sum(len(each.index) for each in self._scopes.values())

    async def _load(self, store: VectorStore, scope: str, embedder: str, dimensions: int) -> ScopeVectors:
        found = self._scopes.get((scope, embedder))
        if found is None:
            found = ScopeVectors(ExactIndex(dimensions, self._max_vectors), 0)
        broken: list[str] = []
        while True:
            rows, number = await store.load_after(vector_namespace(scope), embedder, found.number, ROWS_PER_READ)
            if rows:
                broken += await self._clock.run_in_thread(partial(_add, found.index, rows, dimensions))
                found.number = number
            if len(rows) < ROWS_PER_READ:
                break
        if broken:
            log.warning(
                "%d vectors of memory entries cannot be read, so these entries are found by their words only; "
                "`sophon memory reindex` makes them anew. The first is %s",
                len(broken),
                broken[0],
            )
        self._scopes[scope, embedder] = found
        self._scopes.move_to_end((scope, embedder))
        while len(self._scopes) > 1 and self.count() > self._max_vectors:
            self._scopes.popitem(last=False)
        return found


def _add(index: ExactIndex, rows: Sequence[VectorRow], dimensions: int) -> list[str]:
    """Add vectors; return those that cannot be used."""
    broken: list[str] = []
    for row in rows:
        try:
            index.add(row.key, from_blob(row.blob, row.dimensions))
        except ValueError as error:
            broken.append(f"{row.key}: {error}")
    return broken
