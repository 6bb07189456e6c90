"""The contract of the vectors: float32 blobs by namespace and key."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from sophon._python.lazy_dataclass import dataclass

POLICIES: Final = "policies"
TRAJECTORIES: Final = "trajectories"


@dataclass(frozen=True, slots=True)
class VectorRow:
    """Stored vector: `blob` holds `dimensions` little-endian float32 numbers of the embedder `embedder`.

    `data` are plain JSON values; None if what is stored cannot be read. Nothing else is checked here.
    """

    namespace: str
    key: str
    embedder: str
    dimensions: int
    blob: bytes
    data: Any
    at: datetime
    session_id: str = ""


class VectorStore(Protocol):
    """Repository of vectors. Those of a session are deleted with it."""

    async def put(self, rows: Sequence[VectorRow]) -> None:
        """Store vectors, all or none; one with a known namespace and key is replaced and counts as new."""
        ...

    async def load(self, namespace: str, embedder: str, limit: int) -> list[VectorRow]:
        """Return the newest `limit` vectors of an embedder, oldest first."""
        ...

    async def list_versions(self, namespace: str, embedder: str, limit: int) -> Mapping[str, int]:
        """Return a number for each of the newest `limit` keys of an embedder, oldest first.

        The numbers grow in the order in which vectors are stored; one that replaces another gets a new one.
        """
        ...

    async def load_keys(self, namespace: str, embedder: str, keys: Sequence[str]) -> list[VectorRow]:
        """Return vectors by their keys, oldest first; unknown keys are ignored."""
        ...

    async def load_after(self, namespace: str, embedder: str, number: int, limit: int) -> tuple[list[VectorRow], int]:
        """Return the oldest `limit` vectors of an embedder that were stored after the one with a number, oldest first,
        and the number of the last one; `number` itself if there is none. Numbers begin at 1.
        """
        ...

    async def delete(self, namespace: str, keys: Sequence[str] | None = None) -> None:
        """Delete vectors, by default all of the namespace. Unknown keys are ignored."""
        ...

    async def count(self, namespace: str) -> int:
        """Return the number of vectors of all embedders."""
        ...

    async def expire(self, namespace: str, before: datetime | None, keep: int) -> int:
        """Delete all but the newest `keep`, and those older than a time; return how many."""
        ...
