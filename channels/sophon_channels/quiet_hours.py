"""Quiet hours: the part of the day in which messages are held back, or delivered without a sound."""

import zoneinfo
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Self

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A window of each day in one time zone, from `start` on and before `end`; it may pass midnight."""

    start: time
    end: time
    zone: tzinfo

    @classmethod
    def parse(cls, window: Sequence[str], zone: str) -> Self:
        """Return the window of two times HH:MM. Raises ValueError."""
        start, end = (time.fromisoformat(each) for each in window)
        return cls(start, end, UTC if zone == "UTC" else zoneinfo.ZoneInfo(zone))

    def covers(self, now: datetime) -> bool:
        """Return whether a time is within the window. Pure."""
        local = now.astimezone(self.zone).time()
        if self.start <= self.end:
            return self.start <= local < self.end
        return local >= self.start or local < self.end

    def find_end(self, now: datetime) -> datetime | None:
        """Return the end of the window that a time is in, in UTC; None if it is in none. Pure."""
        if not self.covers(now):
            return None
        local = now.astimezone(self.zone)
        day = local.date() + timedelta(days=local.time() >= self.end)
        end = datetime.combine(day, self.end, self.zone).astimezone(UTC)
        # In autumn an hour comes twice: within its second time the end is that of the second one.
        return end if end > now else datetime.combine(day, self.end.replace(fold=1), self.zone).astimezone(UTC)
