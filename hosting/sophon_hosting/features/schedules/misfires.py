"""Misfire policy: which of the times that have come are fired, and which are dropped."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.features.schedules.schedule import Misfire

GRACE: Final = timedelta(minutes=1)
"""A time that is not older is on time."""


@dataclass(frozen=True, slots=True)
class Firings:
    """The times to fire, oldest first, and those that are dropped."""

    fired: Sequence[datetime] = ()
    missed: Sequence[datetime] = ()


def choose_firings(
    times: Sequence[datetime], now: datetime, misfire: Misfire, limit: int, wake_at: datetime
) -> Firings:
    """Return which of the times that have come are fired. `skip`: the last, if it is on time; `once`: the last;
    `all`: the last `limit`.

    `wake_at` is later than the last time if it was postponed: then that is when it would have been on time.
    """
    if not times:
        return Firings()
    if misfire == "all":
        return Firings(times[-limit:], times[:-limit])
    if misfire == "skip" and now - max(times[-1], wake_at) > GRACE:
        return Firings((), times)
    return Firings(times[-1:], times[:-1])
