"""The memory store's contract: long-term memory entries and their search."""

from datetime import datetime
from typing import Literal, Protocol

from sophon.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """Long-term memory entry. `origin` says where it was written (`channel/session`); `scope` says whose it is.

    `sources` names the untrusted texts (`http.request https://...`) that the turn or its session had read before; None
    if that is unknown, as for an entry that an older version wrote.
    """

    id: str
    text: str
    category: Literal["fact", "preference", "observation"] = "fact"
    scope: str = "user"
    origin: str = ""
    created_at: datetime | None = None
    sources: tuple[str, ...] | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether no untrusted text can have influenced the entry; an unknown origin is not trusted."""
        return self.sources == ()


class MemoryStore(Protocol):
    """Repository of long-term memory: plain entries with word search."""

    async def write(self, entry: MemoryEntry) -> None:
        """Store an entry; replaces an entry with the same id."""
        ...

    async def search(self, query: str, *, scope: str | None = None, limit: int = 10) -> list[MemoryEntry]:
        """Return the entries that share words with the query, best first; an empty query returns the newest."""
        ...

    async def delete(self, entry_id: str) -> None:
        """Delete an entry. Raises NotFound."""
        ...

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """Return every entry, oldest first."""
        ...
