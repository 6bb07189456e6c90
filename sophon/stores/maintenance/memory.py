"""Maintenance of a store in memory, which has no disk."""

from sqlalchemy import Connection

from sophon.stores.maintenance.contract import SchemaVersions, StoreSpace
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema_migration import newest_version


class MemoryMaintenance:
    """The maintenance of an `SqlStore` in memory; see `StoreMaintenance`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def verify(self) -> None:
        """See `StoreMaintenance.verify`."""

    async def find_damage(self) -> list[str]:
        """See `StoreMaintenance.find_damage`."""
        return []

    async def read_schema(self) -> SchemaVersions:
        """See `StoreMaintenance.read_schema`: a store in memory begins with the newest."""
        return SchemaVersions(newest_version(), newest_version())

    async def migrate_schema(self, *, force: bool = False) -> None:
        """See `StoreMaintenance.migrate_schema`."""

    async def probe(self) -> None:
        """See `StoreMaintenance.probe`."""

    async def measure_space(self) -> StoreSpace:
        """See `StoreMaintenance.measure_space`: its pages, and no disk."""
        return StoreSpace(await self._database.read(_count_bytes))

    async def reclaim_space(self) -> int:
        """See `StoreMaintenance.reclaim_space`: later rows use the pages of deleted ones."""
        return 0

    async def vacuum(self) -> None:
        """See `StoreMaintenance.vacuum`."""


def _count_bytes(connection: Connection) -> int:
    def pragma(name: str) -> int:
        return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())

    return pragma("page_count") * pragma("page_size")
