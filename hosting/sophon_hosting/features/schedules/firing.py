"""Firing of one schedule: what becomes of the times that have come. Each ends in one visible outcome."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from sophon.errors import ChangedMeanwhile, SophonError, StoreUnavailable
from sophon.scheduled_turns import SCHEDULE_KEYS, SCHEDULED_ORIGIN, build_scheduled_text
from sophon.services import Services
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.schedules.events import ScheduleChanged, ScheduleFired
from sophon_hosting.features.schedules.misfires import choose_firings
from sophon_hosting.features.schedules.occurrences import Recurrence
from sophon_hosting.features.schedules.quiet_hours import find_quiet_end
from sophon_hosting.features.schedules.schedule import FiringOutcome, QuietAction, Schedule
from sophon_hosting.features.schedules.schedule_service import pause_schedule
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.queue.errors import TryLater
from sophon_hosting.runs.own_text import OWN_TEXT
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import InboundKey, Precondition

if TYPE_CHECKING:
    from sophon_hosting.features.goals.governor import ResourceGovernor

log = logging.getLogger("sophon")

CheckOwner: TypeAlias = Callable[[Schedule], Awaitable[str]]
"""Returns why the owner of a schedule may not run it any more; "" if they may."""

FIRST_RETRY: Final = timedelta(seconds=10)
LONGEST_RETRY: Final = timedelta(minutes=10)
"""How long a run waits for which there is no room: the first time, and at most."""

MAX_COUNTED: Final = 1000
"""Missed times that are counted; of a schedule that has missed more, so many are reported."""


class ScheduleFiring:
    """Fires the schedules whose time has come.

    A run is accepted under a key of schedule and time, so that it exists once, however many hosts fire it and whenever
    one is killed, and for the schedule as it was read: none is accepted behind a deletion, a pause or another change.
    Only then is the schedule moved on to its next time.
    """

    def __init__(self, host: Host, check_owner: CheckOwner) -> None:
        self._host, self._check_owner = host, check_owner
        self._store, self._clock = stored_schedules(host_store(host.services)), host.services.clock
        self._settings = host.services.settings.section(SchedulesSettings)
        self._governor = find_governor(host.services)

    async def fire(self, schedule: Schedule) -> None:
        """Decide about the times of a schedule that have come, and run those that are due. Raises StoreUnavailable."""
        due_at, wake_at, now = schedule.due_at, schedule.wake_at, self._clock.now()
        if due_at is None or wake_at is None:
            return
        if (quiet_end := find_schedule_quiet_end(schedule, self._settings, now)) is not None:
            await self._keep_quiet(schedule, due_at, quiet_end, now)
            return
        try:
            if reason := await self._check_owner(schedule) or await self._find_session_problem(schedule):
                await self._refuse(schedule, due_at, reason)
                return
            async with self._host.unattended_starts.of(schedule.owner):
                governor = self._governor
                if governor is not None and (
                    waits := await governor.find_turn_refusal(self._host.services, schedule.owner)
                ):
                    await self._delay(schedule, due_at, now, f"waits: {waits}")
                    return
                times = Recurrence.of(schedule).list_newest(due_at, now, MAX_COUNTED)
                await self._run(schedule, times or [due_at], now)
        except StoreUnavailable:
            raise
        except ChangedMeanwhile:
            log.debug("the schedule %s was changed or deleted before it fired", schedule.id)
        except TryLater as error:
            await self._delay(schedule, due_at, now, str(error))
        except SophonError as error:
            await self._refuse(schedule, due_at, str(error))

    async def _run(self, schedule: Schedule, times: Sequence[datetime], now: datetime) -> None:
        wake_at, limit = schedule.wake_at or now, self._settings.max_catch_up
        chosen = choose_firings(times, now, schedule.misfire, limit, wake_at)
        receipt: TaskReceipt | None = None
        for at in chosen.fired:
            receipt = await self._accept(schedule, at)
            if receipt.created:
                self._announce(schedule, at, "fired", task_id=receipt.task_id)
                if self._governor is not None:
                    await self._governor.record(schedule.owner, tasks=1)
        moved = advance(schedule, now)
        if receipt is not None:
            moved = note_outcome(moved, chosen.fired[-1], "fired", task_id=receipt.task_id)
        elif chosen.missed:
            moved = note_outcome(moved, chosen.missed[-1], "missed")
        if await self._store.update(moved):
            if chosen.missed:
                reason = f"the host did not run then; the policy is {schedule.misfire}"
                self._announce(schedule, chosen.missed[-1], "missed", reason, count=len(chosen.missed))
            if moved.state == "finished":
                self._announce_change(moved, "finished")

    async def _accept(self, schedule: Schedule, at: datetime) -> TaskReceipt:
        session = await host_store(self._host.services).sessions.get(schedule.session_id)
        marks = {SCHEDULED_ORIGIN: schedule.id, "due_at": at.isoformat(), OWN_TEXT: schedule.text}
        return await self._host.accept(
            RunRequest(
                text=build_scheduled_text(schedule.title, schedule.text),
                session_id=schedule.session_id,
                session_owner=session.owner,
                owner=schedule.owner,
                channel=schedule.channel,
                account=str(schedule.origin.get("account", "")),
                origin={**schedule.origin, **marks},
                key=InboundKey(SCHEDULE_KEYS, schedule.id, at.isoformat()),
                precondition=Precondition("schedule", schedule.id, schedule.version),
            )
        )

    async def _find_session_problem(self, schedule: Schedule) -> str:
        """Return why no run may start in the session; a session of that id may be somebody else's by now."""
        session = await host_store(self._host.services).sessions.find(schedule.session_id)
        if session is None:
            return "its conversation does not exist any more"
        owners = (schedule.owner, schedule.origin.get("data_owner"))
        return "" if session.owner in owners else "its conversation belongs to somebody else"

    async def _keep_quiet(self, schedule: Schedule, due_at: datetime, quiet_end: datetime, now: datetime) -> None:
        action, reason = find_quiet_action(schedule, self._settings), "quiet hours"
        outcome: FiringOutcome = "skipped" if action == "skip" else "postponed"
        moved = advance(schedule, now) if action == "skip" else replace(schedule, wake_at=quiet_end)
        if await self._store.update(note_outcome(moved, due_at, outcome, reason)):
            self._announce(schedule, due_at, outcome, reason)

    async def _delay(self, schedule: Schedule, due_at: datetime, now: datetime, reason: str) -> None:
        wait = min(FIRST_RETRY * 2 ** min(schedule.attempts, 10), LONGEST_RETRY)
        moved = replace(schedule, wake_at=now + wait, attempts=schedule.attempts + 1)
        if await self._store.update(note_outcome(moved, due_at, "delayed", reason)) and not schedule.attempts:
            self._announce(schedule, due_at, "delayed", reason)

    async def _refuse(self, schedule: Schedule, due_at: datetime, reason: str) -> None:
        paused = note_outcome(pause_schedule(schedule, reason), due_at, "refused", reason)
        if await self._store.update(paused):
            self._announce(schedule, due_at, "refused", reason)
            self._announce_change(paused, "paused")

    def _announce(
        self,
        schedule: Schedule,
        due_at: datetime,
        outcome: FiringOutcome,
        reason: str = "",
        *,
        task_id: str = "",
        count: int = 1,
    ) -> None:
        event = ScheduleFired(
            schedule_id=schedule.id,
            title=schedule.title,
            due_at=due_at.isoformat(),
            outcome=outcome,
            reason=reason,
            count=count,
        )
        event.session_id, event.task_id = schedule.session_id, task_id
        self._host.event_bus.emit(event)

    def _announce_change(self, schedule: Schedule, change: str) -> None:
        event = ScheduleChanged(
            schedule_id=schedule.id, change=change, title=schedule.title, reason=schedule.reason, next_at=None
        )
        event.session_id = schedule.session_id
        self._host.event_bus.emit(event)


def find_governor(services: Services) -> "ResourceGovernor | None":
    """Return what limits the unattended work of users; None with `Goals.Enabled` off."""
    if not services.settings.section(GoalsSettings).enabled:
        return None
    from sophon_hosting.features.goals.governor import create_governor  # lazy: goals are off by default

    return create_governor(services)


def advance(schedule: Schedule, now: datetime) -> Schedule:
    """Return the schedule at its first time after now; finished if there is none. Pure."""
    due_at = Recurrence.of(schedule).find_next(now)
    return replace(
        schedule, state="active" if due_at is not None else "finished", due_at=due_at, wake_at=due_at, attempts=0
    )


def note_outcome(
    schedule: Schedule, due_at: datetime, outcome: FiringOutcome, reason: str = "", *, task_id: str = ""
) -> Schedule:
    """Return the schedule with what became of a time. Pure."""
    return replace(schedule, last_due_at=due_at, last_outcome=outcome, last_reason=reason, last_task_id=task_id)


def find_schedule_quiet_end(schedule: Schedule, settings: SchedulesSettings, now: datetime) -> datetime | None:
    """Return when the quiet hours end in which a schedule must not run now; None if it may. Pure.

    The hours of the settings are not for a single moment: whoever names one means it.
    """
    window = schedule.quiet_hours
    if not window and settings.quiet_hours is not None and schedule.kind != "once":
        window = "-".join(settings.quiet_hours)
    return find_quiet_end(window, schedule.time_zone, now)


def find_quiet_action(schedule: Schedule, settings: SchedulesSettings) -> QuietAction:
    """Return what becomes of a time in quiet hours. Pure."""
    if schedule.quiet_hours:
        return schedule.quiet_action
    return "skip" if settings.quiet_action == "Skip" else "postpone"
