"""Occurrences of a schedule: its next times and the times between two moments, in UTC and right at clock changes.

Cron fields are local times of the zone. A time that does not exist, because clocks go forward, is moved to the first
moment after the gap; one that exists twice is the first of the two. Fields whose minute or hour begins with `*` follow
real time instead: `*/30 * * * *` is every half an hour, whatever the clocks do. Both are what Debian's cron does.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, pairwise
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import InputError
from sophon_hosting.features.schedules.schedule import Schedule, ScheduleKind

CRON_FIELDS: Final = 5
FIRST_WINDOW: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When a schedule is due: `kind` and `expression` as in `Schedule`; intervals are counted from `anchor`."""

    kind: ScheduleKind
    expression: str
    time_zone: str
    anchor: datetime

    @classmethod
    def of(cls, schedule: Schedule) -> "Recurrence":
        """Return the recurrence of a schedule."""
        return cls(schedule.kind, schedule.expression, schedule.time_zone, schedule.created_at)

    def list_after(self, moment: datetime) -> Iterator[datetime]:
        """Yield the times after a moment, in order. Raises InputError for cron fields or a zone that are none."""
        moment = moment.astimezone(UTC)
        if self.kind == "once":
            at = datetime.fromisoformat(self.expression).astimezone(UTC)
            return iter([at] if at > moment else [])
        if self.kind == "interval":
            return _list_intervals(self.anchor, timedelta(seconds=int(self.expression)), moment)
        return _list_cron(self.expression, find_zone(self.time_zone), moment)

    def find_next(self, moment: datetime) -> datetime | None:
        """Return the first time after a moment; None if there is none."""
        return next(self.list_after(moment), None)

    def list_newest(self, first: datetime, last: datetime, limit: int) -> list[datetime]:
        """Return the newest times from `first` to `last`, both included, at most `limit` and oldest first.

        Its duration depends on `limit`, not on how long ago `first` is.
        """
        window = FIRST_WINDOW
        while True:
            start = max(first, last - window)
            found = [*_until(self.list_after(start - timedelta(microseconds=1)), last)]
            if len(found) >= limit or start == first:
                return found[-limit:]
            window *= 2


def find_zone(name: str) -> tzinfo:
    """Return a time zone by its name. Raises InputError."""
    import zoneinfo  # lazy: UTC needs no database

    try:
        return UTC if name == "UTC" else zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(f"{name!r} is no time zone; give one as Europe/Vienna or UTC") from None


def to_moment(local: datetime, zone: tzinfo) -> datetime:
    """Return the moment of a local time: one that does not exist is moved past the gap, of two the first."""
    moment = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    # In a gap, fold 0 reads the time by the offset before it, which is past the gap by as much as the time is into it.
    return moment if moment.astimezone(zone).replace(tzinfo=None) == local else _find_end_of_gap(local, zone)


def check_cron(expression: str) -> str:
    """Return five cron fields in one spelling. Raises InputError."""
    from cronsim import CronSim, CronSimError  # lazy: most processes have no schedule

    fields = expression.split()
    if len(fields) != CRON_FIELDS:
        raise InputError(f"{expression!r} has {len(fields)} fields; cron takes minute, hour, day, month and weekday")
    try:
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise InputError(f"{expression!r} are no cron fields: {error}") from None
    return " ".join(fields)


def find_shortest_gap(recurrence: Recurrence, moment: datetime, count: int) -> timedelta | None:
    """Return the shortest time between two of the next `count` times; None if there are fewer than two."""
    times = [*islice(recurrence.list_after(moment), count)]
    return min((later - earlier for earlier, later in pairwise(times)), default=None)


def _list_intervals(anchor: datetime, interval: timedelta, moment: datetime) -> Iterator[datetime]:
    number = max(1, math.floor((moment - anchor) / interval) + 1)
    while True:
        yield anchor + number * interval
        number += 1


def _list_cron(expression: str, zone: tzinfo, moment: datetime) -> Iterator[datetime]:
    from cronsim import CronSim, CronSimError  # lazy: most processes have no schedule

    try:
        times = CronSim(expression, moment.astimezone(zone))
    except CronSimError as error:
        raise InputError(f"{expression!r} are no cron fields: {error}") from None
    latest = moment
    for local in times:
        at = local.astimezone(UTC)
        # From within an hour that exists twice, the first pass is in the past; two times in one gap are one.
        if at > latest:
            latest = at
            yield at


def _until(times: Iterator[datetime], last: datetime) -> Iterator[datetime]:
    for at in times:
        if at > last:
            return
        yield at


def _find_end_of_gap(local: datetime, zone: tzinfo) -> datetime:
    before = local.replace(tzinfo=zone, fold=1).astimezone(UTC)  # by the offset after the gap: in front of it
    after = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) / 2
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == offset else (before, middle)
    return after.replace(microsecond=0)
