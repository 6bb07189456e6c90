"""Factory: create a store from the URL in the settings."""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.extras import describe_missing_package
from sophon.stores.contract import Store
from sophon.stores.in_memory_url import MEMORY_SCHEME as MEMORY_SCHEME


class StoreFactory(Protocol):
    """Creates a store from a URL, as `store_from_url` does."""

    def __call__(self, url: str, /, *, folder: Path, clock: Clock | None = None) -> Store: ...


def store_from_url(url: str, *, folder: Path, clock: Clock | None = None) -> Store:
    """Return a store that is not open yet: `memory://`, `sqlite:///data/sophon.db`, `postgresql://user@host/database`.

    A relative path is relative to `folder`. Raises StoreError for a URL that cannot be used.
    """
    return cast(Store, import_sql("sophon.stores.sql_store", url).SqlStore(url, folder=folder, clock=clock))


def import_sql(module: str, url: str) -> Any:
    """Import a module that needs SQLAlchemy (about 0.2 s), which a chain in one's own process does not need.

    Raises StoreError if it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (missing := describe_missing_package(error)) is None:
            raise
        raise StoreError(url.partition(":")[0], f"it needs SQL, and {missing}") from error
