"""The contract of the times of rate-limited events, by scope: a tool of a person, a sender, all tools."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sophon.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RateEvent:
    """An event that counts in the window of a scope."""

    scope: str
    at: datetime


class RateWindowStore(Protocol):
    """Repository of the times of rate-limited events. It counts nothing: `sophon.security.sliding_windows` does."""

    async def add(self, events: Sequence[RateEvent]) -> None:
        """Add events, all or none."""
        ...

    async def load(self, scope: str, since: datetime, limit: int) -> list[datetime]:
        """Return the times after `since` of the newest `limit` events of a scope, oldest first."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the events before a time; return how many."""
        ...
