"""Schedule service: makes, changes, pauses and removes schedules, whoever asks: a tool, a client or a command."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.decisions.work_strategy import make_title
from sophon.errors import InputError, NotFound
from sophon_hosting.features.schedules.occurrences import Recurrence
from sophon_hosting.features.schedules.requests import ScheduleRequest
from sophon_hosting.features.schedules.schedule import Misfire, QuietAction, Schedule
from sophon_hosting.features.schedules.schedule_text import describe_next, describe_recurrence
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

SHOWN_TIMES: Final = 3
"""Next times that people see."""

ID_CHARACTERS: Final = 12
MAX_TRIES: Final = 5
"""How often a change is made again that another process has overtaken."""

_OWN_ORIGIN: Final = ("chat", "kind", "data_owner", "place", "account", "overrides")
"""Keys of a run's origin that say where its answer goes, and what holds there; the others belong to its message."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the runs of a schedule go: the session, the channel, and the origin of the runs."""

    session_id: str
    channel: str
    origin: Mapping[str, Any]

    @classmethod
    def of_run(cls, run: Run) -> "Destination":
        """Return the session and chat of a run."""
        origin = {name: run.origin[name] for name in _OWN_ORIGIN if name in run.origin}
        return cls(run.session_id, run.channel, origin)


class ScheduleService:
    """The schedules of a store, with the limits of the settings. Who may do what is decided by who calls."""

    def __init__(self, store: HostStore, clock: Clock, settings: SchedulesSettings) -> None:
        self._schedules, self._runs, self._clock, self._settings = stored_schedules(store), store.runs, clock, settings

    async def add(
        self, request: ScheduleRequest, *, owner: str, destination: Destination, created_by: str | None = None
    ) -> Schedule:
        """Make a schedule. Raises InputError for an invalid request, and for one too many."""
        settings, now = self._settings, self._clock.now()
        recurrence = request.to_recurrence(now, settings)
        misfire, quiet_hours, quiet_action = request.check_values()
        due_at = recurrence.find_next(now)
        schedule = Schedule(
            id=f"sch_{self._clock.new_id()[-ID_CHARACTERS:]}",
            owner=owner,
            session_id=destination.session_id,
            channel=destination.channel,
            text=request.text.strip(),
            kind=recurrence.kind,
            expression=recurrence.expression,
            time_zone=recurrence.time_zone,
            created_at=recurrence.anchor,
            created_by=owner if created_by is None else created_by,
            origin=dict(destination.origin),
            title=make_title(request.title or request.text),
            misfire=misfire or cast(Misfire, settings.misfire.lower()),
            quiet_hours=quiet_hours or "",
            quiet_action=quiet_action or cast(QuietAction, settings.quiet_action.lower()),
            due_at=due_at,
            wake_at=due_at,
        )
        if not await self._schedules.add(schedule, limit=settings.per_user):
            raise InputError(f"you have {settings.per_user} schedules, which is the limit; remove one first")
        return schedule

    async def change(self, schedule_id: str, changes: Mapping[str, Any]) -> Schedule:
        """Change text, title, misfire policy, quiet hours, or the times (cron, every, at, in_minutes, time_zone).

        Raises NotFound, InputError.
        """

        def apply(schedule: Schedule) -> Schedule:
            return self._apply(schedule, changes)

        return await self._update(schedule_id, apply)

    async def pause(self, schedule_id: str, reason: str) -> Schedule:
        """Pause a schedule; one that is not active stays as it is. Raises NotFound."""

        def apply(schedule: Schedule) -> Schedule:
            return pause_schedule(schedule, reason) if schedule.state == "active" else schedule

        return await self._update(schedule_id, apply)

    async def resume(self, schedule_id: str) -> Schedule:
        """Let a paused schedule go on, from the next time on. Raises NotFound, InputError if it has none."""

        def apply(schedule: Schedule) -> Schedule:
            return schedule if schedule.state == "active" else self._activate(schedule)

        return await self._update(schedule_id, apply)

    async def remove(self, schedule_id: str) -> None:
        """Delete a schedule. Raises NotFound."""
        if not await self._schedules.remove(schedule_id):
            raise NotFound("schedule", schedule_id)

    async def get(self, schedule_id: str) -> Schedule:
        """Return a schedule. Raises NotFound."""
        found = await self._schedules.find(schedule_id)
        if found is None:
            raise NotFound("schedule", schedule_id)
        return found

    def list_next(self, schedule: Schedule) -> list[datetime]:
        """Return the next times of a schedule; none unless it is active."""
        if schedule.due_at is None:
            return []
        return [schedule.due_at, *islice(Recurrence.of(schedule).list_after(schedule.due_at), SHOWN_TIMES - 1)]

    def describe(self, schedule: Schedule) -> str:
        """Return when a schedule runs, and its next times, as sentences."""
        recurrence = Recurrence.of(schedule)
        when = describe_recurrence(recurrence)
        next_times = describe_next(self.list_next(schedule), schedule.time_zone)
        if schedule.state == "active":
            return f"It runs {when}. {next_times}"
        return f"It ran {when}, and is {schedule.state}."

    def preview(self, request: ScheduleRequest) -> str:
        """Return what a request would do, for the person who approves it. Raises InputError."""
        now = self._clock.now()
        recurrence = request.to_recurrence(now, self._settings)
        request.check_values()
        times = [*islice(recurrence.list_after(now), SHOWN_TIMES)]
        return f"It will run {describe_recurrence(recurrence)}. {describe_next(times, recurrence.time_zone)}"

    async def find_destination(self, session_id: str) -> Destination | None:
        """Return where answers of a session go, by its newest message; None for a session without any."""
        newest = await self._runs.list(session_id=session_id, limit=1, whole=False)
        return Destination.of_run(newest[0]) if newest else None

    def _activate(self, schedule: Schedule) -> Schedule:
        due_at = Recurrence.of(schedule).find_next(self._clock.now())
        if due_at is None:
            raise InputError(f"{schedule.id} has no time left; give it a new one")
        return replace(schedule, state="active", reason="", due_at=due_at, wake_at=due_at, attempts=0)

    def _apply(self, schedule: Schedule, changes: Mapping[str, Any]) -> Schedule:
        names = ("text", "title", "misfire", "quiet_hours", "quiet_action")
        kept: dict[str, Any] = {name: getattr(schedule, name) for name in names}
        whole = ScheduleRequest.from_arguments({**kept, "time_zone": schedule.time_zone, **changes})
        misfire, quiet_hours, quiet_action = whole.check_values()
        changed = replace(
            schedule,
            text=whole.text.strip(),
            title=make_title(whole.title or whole.text),
            misfire=misfire or schedule.misfire,
            quiet_hours=schedule.quiet_hours if quiet_hours is None else quiet_hours,
            quiet_action=quiet_action or schedule.quiet_action,
        )
        if not any(changes.get(name) is not None for name in ("cron", "every", "at", "in_minutes", "time_zone")):
            return changed
        if not any(changes.get(name) is not None for name in ("cron", "every", "at", "in_minutes")):
            changed = replace(changed, time_zone=whole.time_zone or schedule.time_zone)
            Recurrence.of(changed).find_next(self._clock.now())  # refuses an unknown zone
        else:
            times = whole.to_recurrence(self._clock.now(), self._settings)
            changed = replace(changed, kind=times.kind, expression=times.expression, time_zone=times.time_zone)
            if times.kind == "interval":
                changed = replace(changed, created_at=times.anchor)
        return changed if changed.state == "paused" else self._activate(changed)

    async def _update(self, schedule_id: str, apply: Callable[[Schedule], Schedule]) -> Schedule:
        for _ in range(MAX_TRIES):
            schedule = await self.get(schedule_id)
            changed = apply(schedule)
            if changed == schedule:
                return schedule
            if await self._schedules.update(changed):
                return replace(changed, version=schedule.version + 1)
        raise InputError(f"{schedule_id} is being changed by others; try again")


def pause_schedule(schedule: Schedule, reason: str) -> Schedule:
    """Return the schedule, paused."""
    return replace(schedule, state="paused", reason=reason, due_at=None, wake_at=None, attempts=0)
