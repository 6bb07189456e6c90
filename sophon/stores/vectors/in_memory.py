"""In-memory vectors."""

import itertools
from collections.abc import Sequence
from datetime import datetime

from sophon.stores.vectors.contract import VectorRow


class InMemoryVectorStore:
    """The vectors of an `InMemoryStore`; see `VectorStore`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], VectorRow] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._next_number = itertools.count(1)

    async def put(self, rows: Sequence[VectorRow]) -> None:
        """See `VectorStore.put`."""
        self.add(rows)

    async def load(self, namespace: str, embedder: str, limit: int) -> list[VectorRow]:
        """See `VectorStore.load`."""
        found = [row for row in self._of(namespace) if row.embedder == embedder]
        return found[-limit:] if limit > 0 else []

    async def list_versions(self, namespace: str, embedder: str, limit: int) -> dict[str, int]:
        """See `VectorStore.list_versions`."""
        rows = await self.load(namespace, embedder, limit)
        return {row.key: self._numbers[namespace, row.key] for row in rows}

    async def load_keys(self, namespace: str, embedder: str, keys: Sequence[str]) -> list[VectorRow]:
        """See `VectorStore.load_keys`."""
        wanted = set(keys)
        return [row for row in self._of(namespace) if row.embedder == embedder and row.key in wanted]

    async def load_after(self, namespace: str, embedder: str, number: int, limit: int) -> tuple[list[VectorRow], int]:
        """See `VectorStore.load_after`."""
        found = [
            (self._numbers[row.namespace, row.key], row)
            for row in self._of(namespace)
            if row.embedder == embedder and self._numbers[row.namespace, row.key] > number
        ][: max(limit, 0)]
        return [row for _, row in found], found[-1][0] if found else number

    async def delete(self, namespace: str, keys: Sequence[str] | None = None) -> None:
        """See `VectorStore.delete`."""
        for key in [row.key for row in self._of(namespace)] if keys is None else keys:
            self.remove(namespace, key)

    async def count(self, namespace: str) -> int:
        """See `VectorStore.count`."""
        return len(self._of(namespace))

    async def expire(self, namespace: str, before: datetime | None, keep: int) -> int:
        """See `VectorStore.expire`."""
        rows = self._of(namespace)
        old = [row for row in rows if before is not None and row.at < before]
        gone = {row.key for row in (*rows[: max(len(rows) - keep, 0)], *old)}
        await self.delete(namespace, list(gone))
        return len(gone)

    def add(self, rows: Sequence[VectorRow]) -> None:
        """Store vectors, in their order."""
        for row in rows:
            self.remove(row.namespace, row.key)
            self._rows[row.namespace, row.key] = row
            self._numbers[row.namespace, row.key] = next(self._next_number)

    def remove(self, namespace: str, key: str) -> None:
        """Delete a vector, if there is one."""
        self._numbers.pop((namespace, key), None)
        self._rows.pop((namespace, key), None)

    def forget_session(self, session_id: str) -> None:
        """Delete the vectors of a session that is deleted."""
        for row in list(self._rows.values()):
            if row.session_id == session_id:
                self.remove(row.namespace, row.key)

    def _of(self, namespace: str) -> list[VectorRow]:
        return [row for row in self._rows.values() if row.namespace == namespace]
