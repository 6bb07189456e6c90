"""Conversion of times from outside to UTC. Pure."""

from datetime import UTC, datetime


def to_utc(moment: datetime) -> datetime:
    """Return an aware time in UTC. Raises ValueError for a naive one, and for one that its zone puts into no year."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; give an aware time")
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # no ValueError: whoever parses a time expects one
        raise ValueError(f"{moment.isoformat()} is before the year 1 or after the year 9999 in UTC") from None
