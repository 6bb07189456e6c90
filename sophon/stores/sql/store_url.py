"""Parse a store's URL: choose the driver, resolve relative paths against the host's folder."""

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from sophon.errors import StoreError
from sophon.security import hide_url_secrets
from sophon.stores.sql.dialects import DRIVER_BY_SCHEME


def resolve_url(url: str, folder: Path) -> URL:
    """Return the URL with its driver and an absolute SQLite path. Raises StoreError for an unusable URL."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        shown = hide_url_secrets(url) if "@" in url or "?" in url else url
        raise StoreError(repr(shown), "it is no URL; use for example sqlite:///data/sophon.db") from error
    driver = DRIVER_BY_SCHEME.get(parsed.drivername)
    if driver is None:
        known = ", ".join(["memory", "sqlite", "postgresql"])
        raise StoreError(repr(parsed.drivername), f"unknown kind of store; choose from {known}")
    parsed = parsed.set(drivername=driver)
    return _with_absolute_path(parsed, folder) if parsed.get_backend_name() == "sqlite" else parsed


def _with_absolute_path(url: URL, folder: Path) -> URL:
    path = url.database
    if not path or path == ":memory:" or path.startswith("file:"):
        raise StoreError(
            url.render_as_string(), "it needs the path of a file, as in sqlite:///data/sophon.db; or use memory://"
        )
    return url.set(database=str((folder / Path(path).expanduser()).absolute()))
