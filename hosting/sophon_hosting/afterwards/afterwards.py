"""After an answer, the memory step and then the title: beside the turns, never in their way."""

import asyncio
import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from sophon.errors import NotFound
from sophon.events import SessionTitled
from sophon.pipeline import Pipeline
from sophon.services import Services
from sophon.stores.run_contracts import Run
from sophon_hosting.afterwards.learning import Learning
from sophon_hosting.afterwards.titles import Titling
from sophon_hosting.events.feed import EventFeed
from sophon_hosting.events.frame import Frame
from sophon_middlewares.outer.budget import Budget
from sophon_middlewares.outer.capability_routing import CapabilityRouting

log = logging.getLogger("sophon")

MOST_WAITING = 100
"""Answers whose afterwards is still to come; of more, the oldest are let go."""

LIMIT_SECONDS = 30.0
"""For the memory step and the title of one answer, together."""

ANSWERED = frozenset({"stop", "length", "max_iterations"})


@dataclass(frozen=True, slots=True)
class AfterwardsStatistics:
    """Since the start: `done` answers, `dropped` because too many waited, `failed` or out of time; `waiting` now."""

    waiting: int
    done: int
    dropped: int
    failed: int


class Afterwards:
    """Listens to the feed, and works off one answer at a time.

    Its model calls go through Budget and routing as any other, and are told as events of the task they belong to. What
    it has not done when the host stops is not made up for.
    """

    def __init__(self, services: Services, feed: EventFeed) -> None:
        self._services, self._feed = services, feed
        self._titling = Pipeline.compose(Budget(), CapabilityRouting(), Titling())
        self._learning = Pipeline.compose(Budget(), CapabilityRouting(), Learning())
        self._waiting: deque[str] = deque()
        self._news = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        self._done = self._dropped = self._failed = 0

    def start(self) -> None:
        """Begin to listen."""
        self._feed.watch(self._hear)
        self._work = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """At once: nobody waits for it."""
        if self._work is None:
            return
        self._feed.unwatch(self._hear)
        self._work.cancel()
        with suppress(asyncio.CancelledError):
            await self._work
        self._work = None

    def statistics(self) -> AfterwardsStatistics:
        """At this moment."""
        return AfterwardsStatistics(len(self._waiting), self._done, self._dropped, self._failed)

    def _hear(self, frame: Frame) -> None:
        if frame.name != "task_completed" or frame.data["finish_reason"] not in ANSWERED:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self._dropped += 1
            log.warning("an answer is left without its afterwards: %d others wait", MOST_WAITING)
        self._waiting.append(frame.task_id)
        self._news.set()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            while self._waiting:
                await self._of(self._waiting.popleft())
            self._news.clear()

    async def _of(self, task_id: str) -> None:
        try:
            async with self._services.clock.timeout(LIMIT_SECONDS):
                run = await self._services.store.runs.get(task_id)
                await self._learn(run)
                await self._title(run)
            self._done += 1
        except NotFound:
            log.debug("task %s is gone", task_id)
        except Exception:
            self._failed += 1
            log.warning("the afterwards of task %s failed", task_id, exc_info=True)

    async def _learn(self, run: Run) -> None:
        memory = self._services.settings.memory
        if memory.enabled and memory.learn:
            await self._through(self._learning, run)

    async def _title(self, run: Run) -> None:
        sessions = self._services.store.sessions
        if not self._services.settings.agent_execution.titles or (await sessions.get(run.session_id)).title:
            return
        title = await self._through(self._titling, run)
        if not (await sessions.get(run.session_id)).title:  # nobody has given it one in the meantime
            await sessions.rename(run.session_id, title)
            self._feed.emit(SessionTitled(session_id=run.session_id, task_id=run.id, run_id=run.id, title=title))

    async def _through(self, chain: Pipeline, run: Run) -> str:
        ctx = self._services.turn(run.text, session_id=run.session_id, principal=run.owner, run_id=run.id)
        return (await chain.run(ctx)).text
