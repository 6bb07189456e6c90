"""Factory: create a host's store from the URL in the settings."""

from importlib import import_module
from pathlib import Path
from typing import cast

from sophon.clock import Clock
from sophon_hosting.store.contract import HostStore


def host_store_from_url(url: str, *, folder: Path, clock: Clock | None = None) -> HostStore:
    """Return a store that is not open yet; see `sophon.stores.factory.store_from_url`."""
    # Imported lazily: the module loads SQLAlchemy (about 0.2 s), which many commands do not need.
    sql = import_module("sophon_hosting.store.sql_host_store")
    return cast(HostStore, sql.SqlHostStore(url, folder=folder, clock=clock))
