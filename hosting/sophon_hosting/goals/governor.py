"""Resource governor: what the goals of one user may use per minute and hour, over all of their goals.

The times are in the store (`RateWindowStore`), and each question asks it: so hosts that share a store share the
limits. What is known before it happens is checked and then recorded; tokens and model calls are recorded after. A store
that does not answer refuses: its error goes on, and nothing is started (WASP allows on such a failure).
Source: reference/wasp.md 4.13.
"""

import math
from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Literal, TypeAlias

from sophon.clock import Clock
from sophon.lazy_dataclass import dataclass
from sophon.settings import ResourceLimitSettings
from sophon.stores.rate_windows.contract import RateEvent, RateWindowStore

Resource: TypeAlias = Literal["tasks", "llm_calls", "api_calls", "tokens"]

TOKENS_PER_EVENT: Final = 1000
"""Tokens are counted in thousands: a row for each would be many."""

MAX_RECORDED: Final = 1000
"""Events that one step may add to a window; more than any limit needs."""


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """Use of a resource that has nothing left; `str()` is for people."""

    resource: Resource
    used: int
    limit: int
    window: timedelta

    def __str__(self) -> str:
        period = "hour" if self.window >= timedelta(hours=1) else "minute"
        return f"{self.used}/{self.limit} {self.resource.replace('_', ' ')} per {period}"


class ResourceGovernor:
    """Checks and records what users' goals use."""

    def __init__(self, windows: RateWindowStore, clock: Clock, settings: ResourceLimitSettings) -> None:
        self._windows, self._clock = windows, clock
        minute, hour = timedelta(minutes=1), timedelta(hours=1)
        thousands = max(settings.tokens_per_minute // TOKENS_PER_EVENT, 1)
        self._limits: dict[Resource, tuple[int, timedelta, int]] = {
            "tasks": (settings.tasks_per_hour, hour, 1),
            "llm_calls": (settings.llm_calls_per_minute, minute, 1),
            "api_calls": (settings.api_calls_per_minute, minute, 1),
            "tokens": (thousands, minute, TOKENS_PER_EVENT),
        }

    async def find_exhausted(self, user: str, resources: Iterable[Resource]) -> ResourceUse | None:
        """Return the first of the resources that the user has used up, None if none is. Raises StoreError."""
        now = self._clock.now()
        for resource in resources:
            limit, window, unit = self._limits[resource]
            times = await self._windows.load(build_scope(user, resource), now - window, limit)
            if len(times) >= limit:
                return ResourceUse(resource, len(times) * unit, limit * unit, window)
        return None

    async def record(self, user: str, **used: int) -> None:
        """Record what was used, by resource. Raises StoreError."""
        now = self._clock.now()
        events: list[RateEvent] = []
        for resource, amount in used.items():
            unit = TOKENS_PER_EVENT if resource == "tokens" else 1
            count = min(math.ceil(amount / unit), MAX_RECORDED)
            events += [RateEvent(build_scope(user, resource), now)] * count
        if events:
            await self._windows.add(events)


def build_scope(user: str, resource: str) -> str:
    """Return the scope of a user's resource in the rate windows."""
    return f"goals/{resource}/{user}"
