"""Maintenance of the in-memory store, which has no disk."""

from sophon.stores.maintenance.contract import SchemaVersions, StoreSpace


class InMemoryMaintenance:
    """The maintenance of an `InMemoryStore`; see `StoreMaintenance`."""

    async def verify(self) -> None:
        """See `StoreMaintenance.verify`."""

    async def find_damage(self) -> list[str]:
        """See `StoreMaintenance.find_damage`."""
        return []

    async def read_schema(self) -> SchemaVersions:
        """See `StoreMaintenance.read_schema`: a store in memory has none."""
        return SchemaVersions("", "")

    async def migrate_schema(self, *, force: bool = False) -> None:
        """See `StoreMaintenance.migrate_schema`."""

    async def probe(self) -> None:
        """See `StoreMaintenance.probe`."""

    async def measure_space(self) -> StoreSpace:
        """See `StoreMaintenance.measure_space`."""
        return StoreSpace(0)

    async def reclaim_space(self) -> int:
        """See `StoreMaintenance.reclaim_space`."""
        return 0

    async def vacuum(self) -> None:
        """See `StoreMaintenance.vacuum`."""
