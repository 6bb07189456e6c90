"""In-memory quotas."""

from datetime import datetime


class InMemoryQuotaStore:
    """The quotas of an `InMemoryStore`; see `QuotaStore`."""

    def __init__(self) -> None:
        self._uses: dict[str, list[datetime]] = {}

    async def take(self, quota: str, *, at: datetime, since: datetime, limit: int) -> bool:
        """See `QuotaStore.take`."""
        uses = [each for each in self._uses.get(quota, ()) if each >= since]
        is_free = len(uses) < limit
        self._uses[quota] = [*uses, at] if is_free else uses
        return is_free

    async def count(self, quota: str, *, since: datetime) -> int:
        """See `QuotaStore.count`."""
        return sum(each >= since for each in self._uses.get(quota, ()))

    async def expire(self, before: datetime) -> int:
        """See `QuotaStore.expire`."""
        count = sum(map(len, self._uses.values()))
        kept = {quota: [each for each in uses if each >= before] for quota, uses in self._uses.items()}
        self._uses = {quota: uses for quota, uses in kept.items() if uses}
        return count - sum(map(len, self._uses.values()))
