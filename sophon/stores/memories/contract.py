"""The memory store's contract: long-term memory entries and their search by words."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.keyword_search import scope_word
from sophon.memory.relations import Relation
from sophon.principals import MAIN_AGENT as MAIN_AGENT
from sophon.stores.vectors.contract import VectorRow

MemoryCategory: TypeAlias = Literal["fact", "preference", "observation", "summary"]
"""`summary`: what a past session was about, which is deleted with it."""

MemoryReach: TypeAlias = Literal["owner", "agent", "session"]
"""Who of the owner's turns sees an entry: all, those of one agent, those of one session."""


INDEX_IS_MISSING: Final = "it is missing"
"""What `find_index_damage` says of a store without an index: the first search builds it."""


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """Long-term memory entry. `origin` says where it was written (`channel/session`); `scope` is its owner: a person,
    or a chat whose members share it.

    `reach` says which turns of the owner see it; `agent` and `session_id` which agent and session that are. An entry
    with a `session_id` is deleted with the session. `sources` names the untrusted texts (`http.request https://...`)
    that the turn or its session had read before; None if that is unknown.
    `entities` are the people, projects, places and dates that it is about, `relations` what it says of two of them.
    """

    id: str
    text: str
    category: MemoryCategory = "fact"
    scope: str = "user"
    origin: str = ""
    created_at: datetime | None = None
    sources: tuple[str, ...] | None = None
    reach: MemoryReach = "owner"
    agent: str = ""
    session_id: str = ""
    entities: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()

    @property
    def is_trusted(self) -> bool:
        """Whether no untrusted text can have influenced the entry; an unknown origin is not trusted."""
        return self.sources == ()


@dataclass(frozen=True, slots=True)
class MemoryReader:
    """Turn that reads memory: its session and its agent. `only_session`: it sees the entries of its session alone."""

    session_id: str = ""
    agent: str = MAIN_AGENT
    only_session: bool = False

    def may_see(self, entry: MemoryEntry) -> bool:
        """Return whether an entry of the turn's owner is visible to it."""
        if self.only_session:
            return entry.reach == "session" and entry.session_id == self.session_id
        if entry.reach == "agent":
            return entry.agent == self.agent
        return entry.reach == "owner" or entry.session_id == self.session_id


class MemoryStore(Protocol):
    """Repository of long-term memory: entries of scopes, searched by their words.

    `reader` restricts what is returned to what a turn may see; without one, everything of the scope is returned: for
    its owner. The vectors of an entry are in the vector store, in the namespace `vector_namespace(scope)` with the id
    as key, and are deleted with it.
    """

    async def write(self, entry: MemoryEntry, vector: VectorRow | None = None) -> None:
        """Store an entry with its vector; replaces an entry with the same id."""
        ...

    async def search(
        self, query: str, *, scope: str | None = None, limit: int = 10, reader: MemoryReader | None = None
    ) -> list[MemoryEntry]:
        """Return the entries that share words with the query, best first; an empty query returns the newest."""
        ...

    async def find(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        """Return the entries with these ids, by id; unknown ones are left out."""
        ...

    async def list_linked(self, *, scope: str, limit: int, reader: MemoryReader | None = None) -> list[MemoryEntry]:
        """Return the newest `limit` entries that name entities, newest first."""
        ...

    async def count(self, *, scope: str | None = None) -> int:
        """Return the number of entries."""
        ...

    async def delete(self, entry_id: str) -> None:
        """Delete an entry, so that its text is in no file of the store any more. Raises NotFound."""
        ...

    async def delete_all(self, *, scope: str) -> int:
        """Delete every entry of a scope, as `delete` does; return how many."""
        ...

    async def find_index_damage(self) -> str:
        """Return what is wrong with the index of words, "" if nothing: the next search repairs most of it by itself."""
        ...

    async def rebuild_index(self) -> int:
        """Make the words of all entries and their index anew; return the number of entries."""
        ...

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """Return every entry, oldest first."""
        ...


def vector_namespace(scope: str) -> str:
    """Return the namespace of the vectors of a scope's entries in the vector store: plain ASCII for any scope."""
    return f"memory{scope_word(scope)}"
