"""Goal engine: looks at the live goals of a host at every tick, and at once when a step ends or a person decides."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import ChangedMeanwhile, SophonError
from sophon.events import event_type
from sophon.failure_log import log_failure
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.goals.events import GoalChanged
from sophon_hosting.features.goals.goal_host import GoalHost
from sophon_hosting.features.goals.goal_writer import GoalSaver
from sophon_hosting.features.goals.governor import ResourceGovernor
from sophon_hosting.features.goals.planner.plan_work import PlanWork
from sophon_hosting.features.goals.planner.planning import GoalPlanner
from sophon_hosting.features.goals.rules.goal import WORK_SESSION_PREFIX, Goal
from sophon_hosting.features.goals.rules.goal_progress import decide_next, replan
from sophon_hosting.features.goals.rules.task_graph import list_running
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.steps.step_runs import build_report_request
from sophon_hosting.features.goals.steps.step_work import STEP_POLL, StepWork
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.contract import host_store

log = logging.getLogger("sophon")

RETRY_SECONDS: Final = 15.0
"""Delay after an error of the store."""

ARCHIVE_INTERVAL: Final = timedelta(hours=6)
ARCHIVE_AFTER: Final = timedelta(days=7)
"""Time after which an ended goal is archived: lists leave it out."""

CheckOwner: TypeAlias = Callable[[Goal], Awaitable[str]]
"""Returns why the owner of a goal may not have it worked on any more; "" if they may."""


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
        self._settings = services.settings.section(GoalsSettings)
        self._clock = services.clock
        self._goals = stored_goals(host_store(services))
        self._event_bus, self._leadership = host.event_bus, host.membership.leadership
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
        elif event.session_id.startswith(f"{WORK_SESSION_PREFIX}-"):
            kind = event_type(event.name)
            if kind.is_final or kind.is_approval:
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
                ended = await self._goals.list(states=("completed", "failed", "cancelled"), limit=1000)
                break
            except SophonError as error:
                log_failure(log, error, "the goals could not be read; the next attempt follows")
                await self._clock.sleep(RETRY_SECONDS)
        self._ended |= {goal.id for goal in ended if not goal.reported or list_running(goal.nodes)}

    async def look(self) -> float:
        """Look at all goals once; return the seconds until the next look. Raises StoreError."""
        self._looks += 1
        now = self._clock.now()
        goals = await self._goals.list_live()
        live = frozenset(goal.id for goal in goals)
        self._ended |= self._live - live
        self._live = live
        self._work.forget_others(live)
        for goal_id in list(self._ended):
            goal = await self._goals.find(goal_id)
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
        if self._last_archive is not None and now - self._last_archive < ARCHIVE_INTERVAL:
            return
        self._last_archive = now
        for goal in await self._goals.list(states=("completed", "failed", "cancelled"), limit=1000):
            if goal.finished_at is not None and now - goal.finished_at >= ARCHIVE_AFTER:
                archived = goal.move("archive", goal.reason, now)
                await self._try(self._work.save(replace(archived, reported=True), goal))

    async def _sleep(self, seconds: float) -> None:
        """Sleep, or until somebody wakes the engine."""
        waits: list[Coroutine[None, None, object]] = [self._wake_up.wait(), self._clock.sleep(seconds)]
        tasks = [asyncio.ensure_future(each) for each in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks(*tasks)


class GoalWork:
    """Advances goals. `wake` is called when planning has ended; a goal whose owner may not run it is paused."""

    def __init__(
        self, host: GoalHost, planner: GoalPlanner, wake: Callable[[], None], check_owner: CheckOwner | None = None
    ) -> None:
        services = host.services
        self._check_owner = check_owner
        self._host, self._settings, self._clock = host, services.settings.section(GoalsSettings), services.clock
        saver = GoalSaver(stored_goals(host_store(services)), host.event_bus, services.clock)
        self.save = saver.save
        governor = ResourceGovernor(host_store(services).rate_windows, services.clock, self._settings.limits)
        self._plans = PlanWork(host, planner, governor, saver, wake)
        self._steps = StepWork(host, governor, saver)

    async def stop(self) -> None:
        """Cancel the planning calls that are under way; the next start plans again."""
        await self._plans.stop()

    def note_event(self, event: WireEvent) -> None:
        """Note whether the step of an event waits for a person."""
        self._steps.note_event(event)

    def forget_others(self, goal_ids: Collection[str]) -> None:
        """Forget what this process knows of goals other than these."""
        self._steps.forget_others(goal_ids)

    def is_busy(self, goal: Goal) -> bool:
        """Return whether the goal holds a place: it is being planned, or a step of it runs and waits for nobody."""
        return self._plans.is_planning(goal.id) or self._steps.is_working(goal)

    async def advance(self, goal: Goal, *, may_start: bool) -> Goal:
        """Do what is due for a live goal; return it as it is stored then. Raises ChangedMeanwhile, SophonError."""
        now = self._clock.now()
        goal = await self._steps.collect(goal)
        if goal.state == "paused":
            if goal.pause_kind == "person" and list_running(goal.nodes):
                return await self._steps.stop(goal)
            if goal.next_at is None or goal.next_at > now:
                return goal
            if goal.pause_kind == "back_off":
                return await self.save(goal.resume("the back-off is over", now), goal)
            reason = f"{goal.reason}; nobody resumed it in time"
            return await self.save(goal.move("fail", reason, now), goal)
        if self._check_owner is not None and (problem := await self._check_owner(goal)):
            self._plans.cancel(goal.id)
            return await self.save(goal.pause("person", problem, now, limit=self._settings.fail_paused_after), goal)
        if not may_start:
            return await self._look_later(goal)
        if goal.state == "planning":
            return await self._plans.start(goal)
        return await self._work_on(goal)

    async def conclude(self, goal: Goal) -> Goal:
        """Stop the steps of a goal that is over, and report it once to its chat. Raises TryLater, SophonError."""
        self._plans.cancel(goal.id)
        if list_running(goal.nodes):
            goal = await self._steps.stop(goal)
        if goal.reported or goal.state not in ("completed", "failed"):
            return goal
        await self._host.accept(build_report_request(goal, self._clock))
        return await self.save(replace(goal, reported=True), goal)

    async def _work_on(self, goal: Goal) -> Goal:
        now = self._clock.now()
        if goal.tick_at is None or now - goal.tick_at >= self._settings.tick:
            goal = replace(goal, tick_at=now, steps_in_tick=0)
        found = decide_next(goal, now)
        if found.action == "complete":
            return await self.save(goal.move("complete", found.reason, now), goal)
        if found.action == "pause":
            assert found.pause
            limit = self._settings.fail_paused_after
            return await self.save(goal.pause(found.pause, found.reason, now, limit=limit), goal)
        if found.action == "replan":
            return await self.save(replace(replan(goal, found.reason, now), next_at=now), goal)
        if found.action == "start":
            return await self._steps.start(goal, found.nodes)
        return await self._look_later(goal)

    async def _look_later(self, goal: Goal) -> Goal:
        """Return the goal with the time of its next look, which is not stored: nothing has changed."""
        now = self._clock.now()
        if list_running(goal.nodes):
            return replace(goal, next_at=now + STEP_POLL)
        tick_ends = now if goal.tick_at is None else goal.tick_at + self._settings.tick
        return replace(goal, next_at=tick_ends if tick_ends > now else now + self._settings.tick)
