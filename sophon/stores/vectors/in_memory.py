"""In-memory vectors."""

from collections.abc import Sequence
from datetime import datetime

from sophon.stores.vectors.contract import VectorRow


class InMemoryVectorStore:
    """The vectors of an `InMemoryStore`; see `VectorStore`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], VectorRow] = {}

    async def put(self, rows: Sequence[VectorRow]) -> None:
        """See `VectorStore.put`."""
        self.add(rows)

    async def load(self, namespace: str, embedder: str, limit: int) -> list[VectorRow]:
        """See `VectorStore.load`."""
        found = [row for row in self._of(namespace) if row.embedder == embedder]
        return found[-limit:] if limit > 0 else []

    async def delete(self, namespace: str, keys: Sequence[str] | None = None) -> int:
        """See `VectorStore.delete`."""
        named = {row.key for row in self._of(namespace)} if keys is None else set(keys)
        return sum(self._rows.pop((namespace, key), None) is not None for key in named)

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

    def forget_session(self, session_id: str) -> None:
        """Delete the vectors of a session that is deleted."""
        self._rows = {key: row for key, row in self._rows.items() if row.session_id != session_id}

    def _of(self, namespace: str) -> list[VectorRow]:
        return [row for row in self._rows.values() if row.namespace == namespace]
