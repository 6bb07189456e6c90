"""The contract of the quotas: how often something was used within a window of time, across restarts and processes."""

from datetime import datetime
from typing import Protocol


class QuotaStore(Protocol):
    """Repository of the uses of quotas. A quota is a name; uses before the window are deleted."""

    async def take(self, quota: str, *, at: datetime, since: datetime, limit: int) -> bool:
        """Record a use if there are fewer than `limit` from `since` on; return whether it was recorded.

        Concurrent callers never pass the limit together. Uses before `since` are deleted.
        """
        ...

    async def count(self, quota: str, *, since: datetime) -> int:
        """Return the number of uses from a time on."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the uses of all quotas before a time; return how many."""
        ...
