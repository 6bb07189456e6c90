"""Goal engine: looks at the live goals of a host at every tick, and at once when a step ends or a person decides."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sophon.errors import ChangedMeanwhile, SophonError
from sophon.events import GoalChanged
from sophon.failure_log import log_failure
from sophon.goals.goal import WORK_SESSION_PREFIX, Goal
from sophon.goals.task_graph import list_running
from sophon.lazy_dataclass import dataclass
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.goals.goal_host import GoalHost
from sophon_hosting.goals.goal_work import CheckOwner, GoalWork
from sophon_hosting.goals.planning import GoalPlanner

log = logging.getLogger("sophon")

RETRY_SECONDS: Final = 15.0
"""Delay after an error of the store."""

ARCHIVE_INTERVAL: Final = timedelta(hours=6)

_STEP_EVENTS: Final = frozenset(
    {"task_completed", "task_failed", "task_cancelled", "approval_requested", "approval_resolved"}
)


@dataclass(frozen=True, slots=True)
class GoalStatistics:
    """Counts of this process: goals that hold a place, looks at goals, and looks that failed."""

    busy: int
    looks: int
    failed: int


class GoalEngine:
    """Works on goals: at most `Goals.MaxConcurrent` at once, those of the highest priority first.

    A goal holds a place while it is planned or a step of it runs; one whose step waits for a person holds none. Of
    several processes the leader of `goals` works on them. Each change names the version that it is of, so of two
    processes only one makes it; the other one looks again.
    """

    def __init__(self, host: GoalHost, check_owner: CheckOwner | None = None) -> None:
        services = host.services
        self._settings, self._clock, self._store = services.settings.goals, services.clock, services.store
        self._event_bus, self._leadership = host.event_bus, host.leadership
        planner = GoalPlanner(services, review=self._settings.review, pipelines=host.pipelines)
        self._work = GoalWork(host, planner, self.wake, check_owner)
        self._wake_up = asyncio.Event()
        self._ended: set[str] = set()
        """Goals that may be over and have steps that run, or no report yet."""
        self._live: frozenset[str] = frozenset()
        """Goals that were live at the last look; one that is no longer was ended by another process or by a person."""
        self._last_archive: datetime | None = None
        self._task: asyncio.Task[None] | None = None
        self._busy = self._looks = self._failed = 0

    def start(self) -> None:
        """Start the background task, which works while this process leads."""
        self._task = asyncio.create_task(self._leadership.lead("goals", self._run))

    async def stop(self) -> None:
        """Stop looking at goals; steps that run are tasks of the host, which end or are resumed with it."""
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None

    def wake(self, goal_id: str = "") -> None:
        """Look at the goals now."""
        if goal_id:
            self._ended.add(goal_id)
        self._wake_up.set()

    def statistics(self) -> GoalStatistics:
        """Return the current counts."""
        return GoalStatistics(self._busy, self._looks, self._failed)

    def _on_event(self, event: WireEvent) -> None:
        if event.name == GoalChanged.wire_name:
            self.wake(str(event.data["goal_id"]))
        elif event.name in _STEP_EVENTS and event.session_id.startswith(f"{WORK_SESSION_PREFIX}-"):
            self._work.note_event(event)
            self._wake_up.set()

    async def _run(self) -> None:
        self._event_bus.subscribe_all(self._on_event, elsewhere=True)  # of steps that run in other processes, too
        try:
            await self._look_forever()
        finally:
            self._event_bus.unsubscribe_all(self._on_event)
            await self._work.stop()

    async def _look_forever(self) -> None:
        await self._recover()
        while True:
            self._wake_up.clear()
            try:
                seconds = await self.look()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the goals could not be looked at; the next attempt follows")
                seconds = RETRY_SECONDS
            await self._sleep(seconds)

    async def _recover(self) -> None:
        """Find goals that a previous process has ended without stopping their steps or reporting."""
        while True:
            try:
                ended = await self._store.goals.list(states=("completed", "failed", "cancelled"), limit=1000)
                break
            except SophonError as error:
                log_failure(log, error, "the goals could not be read; the next attempt follows")
                await self._clock.sleep(RETRY_SECONDS)
        self._ended |= {goal.id for goal in ended if not goal.reported or list_running(goal.nodes)}

    async def look(self) -> float:
        """Look at all goals once; return the seconds until the next look. Raises StoreError."""
        self._looks += 1
        now = self._clock.now()
        goals = await self._store.goals.list_live()
        live = frozenset(goal.id for goal in goals)
        self._ended |= self._live - live
        self._live = live
        self._work.forget_others(live)
        for goal_id in list(self._ended):
            goal = await self._store.goals.find(goal_id)
            if goal is None or goal.is_live or await self._try(self._work.conclude(goal)) is not None:
                self._ended.discard(goal_id)
        await self._archive(now)
        self._busy = sum(map(self._work.is_busy, goals))
        due: list[datetime] = []
        for goal in goals:
            was_busy = self._work.is_busy(goal)
            may_start = was_busy or self._busy < self._settings.max_concurrent
            after = await self._try(self._work.advance(goal, may_start=may_start))
            if after is None:
                due.append(now + self._settings.tick if goal.next_at is None else max(goal.next_at, now))
                continue
            self._busy += self._work.is_busy(after) - was_busy
            if not after.is_live:
                self._ended.add(after.id)
                due.append(now)
            elif after.next_at is not None:
                due.append(after.next_at)
        due += [now + self._settings.tick] if self._ended else []
        poll = self._settings.tick.total_seconds()  # another process may change a goal at any time
        wait = min(((at - self._clock.now()).total_seconds() for at in due), default=poll)
        return min(max(wait, 0.0), poll)

    async def _try(self, look: Awaitable[Goal]) -> Goal | None:
        """Return the goal after a look; None if somebody else has changed it, or if the look failed."""
        try:
            return await look
        except ChangedMeanwhile:
            self._wake_up.set()
        except Exception as error:  # noqa: BLE001 - logged; other goals go on
            self._failed += 1
            log_failure(log, error, "a goal could not be worked on; the next attempt follows")
        return None

    async def _archive(self, now: datetime) -> None:
        interval = min(ARCHIVE_INTERVAL, self._settings.archive_after)
        if self._last_archive is not None and now - self._last_archive < interval:
            return
        self._last_archive = now
        for goal in await self._store.goals.list(states=("completed", "failed", "cancelled"), limit=1000):
            if goal.finished_at is not None and now - goal.finished_at >= self._settings.archive_after:
                archived = goal.move("archive", goal.reason, now)
                await self._try(self._work.save(replace(archived, reported=True), goal))

    async def _sleep(self, seconds: float) -> None:
        """Sleep, or until somebody wakes the engine."""
        waits: list[Coroutine[None, None, object]] = [self._wake_up.wait(), self._clock.sleep(seconds)]
        tasks = [asyncio.ensure_future(each) for each in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
