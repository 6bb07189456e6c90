"""In-memory schedules."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sophon.stores.schedules.contract import Schedule


class InMemoryScheduleStore:
    """The schedules of an `InMemoryStore`; see `ScheduleStore`."""

    def __init__(self) -> None:
        self._schedules: dict[str, Schedule] = {}
        self._callbacks: list[Callable[[], None]] = []

    async def add(self, schedule: Schedule, *, limit: int | None = None) -> bool:
        """See `ScheduleStore.add`."""
        if schedule.id in self._schedules:
            return True
        own = sum(each.owner == schedule.owner and each.state != "finished" for each in self._schedules.values())
        if limit is not None and own >= limit:
            return False
        self._schedules[schedule.id] = schedule
        self._announce()
        return True

    async def find(self, schedule_id: str) -> Schedule | None:
        """See `ScheduleStore.find`."""
        return self._schedules.get(schedule_id)

    async def update(self, schedule: Schedule) -> bool:
        """See `ScheduleStore.update`."""
        stored = self._schedules.get(schedule.id)
        if stored is None or stored.version != schedule.version:
            return False
        self._schedules[schedule.id] = replace(schedule, version=schedule.version + 1)
        self._announce()
        return True

    async def remove(self, schedule_id: str) -> bool:
        """See `ScheduleStore.remove`."""
        removed = self._schedules.pop(schedule_id, None) is not None
        self._announce()
        return removed

    async def list_due(self, now: datetime, limit: int = 100) -> list[Schedule]:
        """See `ScheduleStore.list_due`."""
        due = [(each.wake_at, each) for each in self._schedules.values() if each.wake_at and each.wake_at <= now]
        return [each for _, each in sorted(due, key=lambda pair: pair[0])[:limit]]

    async def find_next_wake(self) -> datetime | None:
        """See `ScheduleStore.find_next_wake`."""
        return min((each.wake_at for each in self._schedules.values() if each.wake_at), default=None)

    async def expire(self, before: datetime) -> int:
        """See `ScheduleStore.expire`."""
        return self._remove_if(
            lambda each: each.state == "finished" and each.last_due_at is not None and each.last_due_at < before
        )

    def watch(self, callback: Callable[[], None]) -> None:
        """See `ScheduleStore.watch`."""
        self._callbacks.append(callback)

    def find_version(self, schedule_id: str) -> int | None:
        """Return the version of a stored schedule; None if it does not exist."""
        schedule = self._schedules.get(schedule_id)
        return None if schedule is None else schedule.version

    def needs_session(self, session_id: str) -> bool:
        """Return whether a schedule of a session is not finished."""
        return any(each.session_id == session_id and each.state != "finished" for each in self._schedules.values())

    def forget_session(self, session_id: str) -> None:
        """Delete the schedules of a session that is deleted."""
        self._remove_if(lambda each: each.session_id == session_id)

    def forget_person(self, person: str) -> int:
        """Delete the schedules of a person; return how many."""
        return self._remove_if(lambda each: each.owner == person)

    def _remove_if(self, is_gone: Callable[[Schedule], bool]) -> int:
        gone = [each.id for each in self._schedules.values() if is_gone(each)]
        for schedule_id in gone:
            del self._schedules[schedule_id]
        self._announce()
        return len(gone)

    def _announce(self) -> None:
        for callback in self._callbacks:
            callback()

    async def list(self, *, owner: str | None = None, session_id: str | None = None) -> list[Schedule]:
        """See `ScheduleStore.list`."""
        return [
            each
            for each in self._schedules.values()
            if owner in (None, each.owner) and session_id in (None, each.session_id)
        ]
