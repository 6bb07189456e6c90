"""Instance id: tells whether the host at an address is the one of these settings, by the store that both use."""

from hashlib import sha256
from pathlib import Path

from sophon.stores.factory import MEMORY_SCHEME

ID_CHARACTERS = 16
"""Hexadecimal digits of an instance id."""


def compute_instance_id(store_url: str, folder: Path) -> str:
    """Return the id of every host that uses this store: a hash of what the URL leads to, without its credentials.

    `folder` is the folder of the settings; it stands for the store of a host that has none but its own memory. Raises
    StoreError for a URL that cannot be used.
    """
    if store_url == MEMORY_SCHEME:
        place = f"{MEMORY_SCHEME}{folder.resolve()}"
    else:
        from sophon.stores.sql.store_url import resolve_url  # lazy: it loads SQLAlchemy

        url = resolve_url(store_url, folder)
        if url.get_backend_name() == "sqlite":
            place = f"sqlite:{Path(url.database or '').resolve()}"
        else:
            place = f"{url.get_backend_name()}:{url.host}:{url.port or ''}/{url.database}"
    return sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:ID_CHARACTERS]
