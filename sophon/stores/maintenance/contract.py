"""The maintenance contract: whether a store is intact and writable, the space it uses, and how space is returned."""

from typing import Protocol

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StoreSpace:
    """Sizes in bytes: what the store uses, and what is free on its disk; None if that is unknown."""

    used_bytes: int
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SchemaVersions:
    """Versions of the schema: that of the store, "" if it has none yet, and the one that this Sophon uses."""

    stored: str
    known: str

    @property
    def is_current(self) -> bool:
        """Whether nothing is to be migrated."""
        return self.stored == self.known


class StoreMaintenance(Protocol):
    """Maintenance of one store. `verify` and `find_damage` change nothing and need no open store."""

    async def verify(self) -> None:
        """Check, in a bounded time, that the stored data is not damaged; call it before the store is opened.

        Raises StoreError, which says what is damaged and what to do.
        """
        ...

    async def find_damage(self) -> list[str]:
        """Check everything, however long it takes; return one line per problem. Raises StoreError."""
        ...

    async def read_schema(self) -> SchemaVersions:
        """Return the versions of the schema, changing nothing; needs no open store. Raises StoreError."""
        ...

    async def migrate_schema(self, *, force: bool = False) -> None:
        """Migrate the schema of a store that is not open here, as opening does.

        Raises StoreError; also while hosts of another version use the store, unless `force`: these write nothing any
        more once they renew a lease, a few seconds later.
        """
        ...

    async def probe(self) -> None:
        """Write one row in a transaction of its own. Raises StoreUnavailable."""
        ...

    async def measure_space(self) -> StoreSpace:
        """Measure the space, and tell the store's health how much of its disk is free. Raises StoreUnavailable."""
        ...

    async def reclaim_space(self) -> int:
        """Return the pages of deleted rows to the disk, a few per transaction; return how many bytes.

        Returns 0 where the database does that by itself, or needs `vacuum` for it. Raises StoreUnavailable.
        """
        ...

    async def vacuum(self) -> None:
        """Rewrite the whole store without free pages. Blocks every writer; needs as much free space again.

        Raises StoreError.
        """
        ...
