"""In-memory leases."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sophon.clock import Clock
from sophon.stores.leases.contract import Lease, check_duration


class InMemoryLeaseStore:
    """The leases of an `InMemoryStore`; see `LeaseStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._leases: dict[str, Lease] = {}
        self._tokens = itertools.count(1)

    async def acquire(
        self, name: str, holder: str, seconds: float, details: Mapping[str, Any] | None = None
    ) -> Lease | None:
        """See `LeaseStore.acquire`."""
        check_duration(seconds)
        now = self._clock.now()
        until, found = now + timedelta(seconds=seconds), self._leases.get(name)
        if found is None or (found.holder != holder and found.until <= now):
            self._leases = {each.name: each for each in self._leases.values() if each.until > now}
            lease = Lease(name, holder, until, next(self._tokens), details=details or {})
        elif found.holder == holder:
            lease = replace(found, until=until, details=details or {})
        else:
            return None
        self._leases[name] = lease
        return lease

    async def release(self, name: str, holder: str) -> bool:
        """See `LeaseStore.release`."""
        found = self._leases.get(name)
        if found is None or found.holder != holder:
            return False
        del self._leases[name]
        return found.until > self._clock.now()

    async def list(self, prefix: str = "") -> list[Lease]:
        """See `LeaseStore.list`."""
        now = self._clock.now()
        live = [each for each in self._leases.values() if each.until > now and each.name.startswith(prefix)]
        return sorted(live, key=lambda each: each.name)
