"""Factory: create a host's store from the URL in the settings, or over the store of a chain."""

from pathlib import Path
from typing import cast

from sophon.clock import Clock
from sophon.errors import CompositionError
from sophon.stores.contract import Store
from sophon.stores.factory import import_sql
from sophon.stores.in_memory_store import InMemoryStore
from sophon_hosting.store.contract import HostStore


def host_store_from_url(url: str, *, folder: Path, clock: Clock | None = None) -> HostStore:
    """Return a store that is not open yet; see `sophon.stores.factory.store_from_url`."""
    sql = import_sql("sophon_hosting.store.sql_host_store", url)
    return cast(HostStore, sql.SqlHostStore(url, folder=folder, clock=clock))


def extend_store(store: Store) -> HostStore:
    """Return the store of a host over the same database as the SQL store of a chain; one of a host as it is.

    Raises CompositionError for the default store of a chain in one's own process, which keeps no runs.
    """
    if isinstance(store, HostStore):
        return store
    if not isinstance(store, InMemoryStore):
        # Lazy: it needs SQLAlchemy.
        from sophon.stores.sql_store import SqlStore
        from sophon_hosting.store.sql_host_store import SqlHostStore

        if isinstance(store, SqlStore):
            return cast(HostStore, SqlHostStore.extend(store))
    raise CompositionError(
        "a host needs a store of runs, which the default of Services is not: "
        'pass Services(store=host_store_from_url("memory://", folder=...)) of sophon_hosting.store.factory'
    )
