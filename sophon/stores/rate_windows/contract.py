"""The contract of the times of rate-limited events, by scope: a tool of a person, a sender, all tools."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.security.sliding_windows import RateExceeded, RateLimit


@dataclass(frozen=True, slots=True)
class RateEvent:
    """An event that counts in the window of a scope."""

    scope: str
    at: datetime


class RateWindowStore(Protocol):
    """Repository of the times of rate-limited events.

    Where one process uses the store, `sophon.security.sliding_windows` counts, and the store keeps the times for the
    next process. Where several do, each asks the store: `reserve` counts over all of them.
    """

    async def reserve(self, limits: Sequence[RateLimit]) -> list[int] | RateExceeded:
        """Add an event of each limit's scope and return their numbers, or none: then the first limit without room.

        Atomic: processes that reserve at the same time never exceed a limit together. The times are those of the
        database's clock on PostgreSQL, otherwise of this machine's.
        """
        ...

    async def cancel(self, numbers: Sequence[int]) -> None:
        """Delete reserved events that did not happen."""
        ...

    async def add(self, events: Sequence[RateEvent]) -> None:
        """Add events, all or none."""
        ...

    async def load(self, scope: str, since: datetime, limit: int) -> list[datetime]:
        """Return the times after `since` of the newest `limit` events of a scope, oldest first."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the events before a time; return how many."""
        ...
