"""In-memory vectors."""

from collections.abc import Sequence
from datetime import datetime

from sophon.stores.vectors.contract import VectorRow


class InMemoryVectorStore:
    """The vectors of an `InMemoryStore`; see `VectorStore`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], VectorRow] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._last_number = 0

    async def put(self, rows: Sequence[VectorRow]) -> None:
        """See `VectorStore.put`."""
        self.add(rows)

    async def load(self, namespace: str, embedder: str, limit: int) -> list[VectorRow]:
        """See `VectorStore.load`."""
        found = [row for row in self._of(namespace) if row.embedder == embedder]
        return found[-limit:] if limit > 0 else []

    async def load_after(self, namespace: str, embedder: str, number: int, limit: int) -> tuple[list[VectorRow], int]:
        """See `VectorStore.load_after`."""
        found = [
            (self._numbers[row.namespace, row.key], row)
            for row in self._of(namespace)
            if row.embedder == embedder and self._numbers[row.namespace, row.key] > number
        ][: max(limit, 0)]
        return [row for _, row in found], found[-1][0] if found else number

    async def delete(self, namespace: str, keys: Sequence[str] | None = None) -> int:
        """See `VectorStore.delete`."""
        named = {row.key for row in self._of(namespace)} if keys is None else set(keys)
        return sum(self.remove(namespace, key) for key in named)

    async def count(self, namespace: str) -> int:
        """See `VectorStore.count`."""
        return len(self._of(namespace))

    async def expire(self, namespace: str, before: datetime | None, keep: int) -> int:
        """See `VectorStore.expire`."""
        rows = self._of(namespace)
        old = [row for row in rows if before is not None and row.at < before]
        return await self.delete(namespace, [row.key for row in (*rows[: max(len(rows) - keep, 0)], *old)])

    def add(self, rows: Sequence[VectorRow]) -> None:
        """Store vectors."""
        for row in rows:
            self._rows.pop((row.namespace, row.key), None)
            self._rows[row.namespace, row.key] = row
            self._last_number += 1
            self._numbers[row.namespace, row.key] = self._last_number

    def remove(self, namespace: str, key: str) -> bool:
        """Delete a vector; return whether there was one."""
        self._numbers.pop((namespace, key), None)
        return self._rows.pop((namespace, key), None) is not None

    def forget_session(self, session_id: str) -> None:
        """Delete the vectors of a session that is deleted."""
        self._rows = {key: row for key, row in self._rows.items() if row.session_id != session_id}

    def _of(self, namespace: str) -> list[VectorRow]:
        return [row for row in self._rows.values() if row.namespace == namespace]
