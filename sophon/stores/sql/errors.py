"""Map database errors to a StoreError with a one-line message for the operator."""

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from sophon.errors import StoreError

_MESSAGES = (
    ("not a database", "the file is no SQLite database; move it away, or choose another file"),
    ("malformed", "the file is damaged; restore it from a backup, or move it away"),
    ("database is locked", "another process keeps it locked; end that process, or try again"),
    ("lock timeout", "another process keeps it locked; end that process, or try again"),
    ("unable to open database file", "the file cannot be opened; check the path and its permissions"),
    ("readonly database", "the file may not be written; check its permissions"),
    ("disk is full", "the disk is full"),
)
"""Part of the driver's message -> message for the operator."""


def to_store_error(store: str, error: Exception) -> StoreError:
    """Return the StoreError for an error of SQLAlchemy, of a driver, or of the file system."""
    if isinstance(error, ModuleNotFoundError):
        return StoreError(
            store, f"the driver {error.name!r} is not installed; try `pip install '{error.name}[binary]'`"
        )
    if isinstance(error, OSError):
        return StoreError(store, f"{error.strerror or error}: {error.filename!r}")
    text = str(error.orig if isinstance(error, DBAPIError) else error)
    for part, sentence in _MESSAGES:
        if part in text:
            return StoreError(store, sentence)
    first = text.strip().partition("\n")[0]
    return StoreError(store, first if isinstance(error, SQLAlchemyError) else f"{type(error).__name__}: {first}")
