"""Factory: create a host's store from the URL in the settings."""

from pathlib import Path
from typing import cast

from sophon.clock import Clock
from sophon.stores.factory import import_sql
from sophon_hosting.store.contract import HostStore


def host_store_from_url(url: str, *, folder: Path, clock: Clock | None = None) -> HostStore:
    """Return a store that is not open yet; see `sophon.stores.factory.store_from_url`."""
    sql = import_sql("sophon_hosting.store.sql_host_store", url)
    return cast(HostStore, sql.SqlHostStore(url, folder=folder, clock=clock))
