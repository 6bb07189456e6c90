"""ISO 8601 texts of optional times."""

from datetime import datetime


def to_iso(at: datetime | None) -> str | None:
    """Return a time in ISO 8601; None for none."""
    return at.isoformat() if at is not None else None
