"""The worker: takes runs from the queue, sends each through the chain, and sees to it that each has one outcome."""

import asyncio
import logging

from sophon.context import Context
from sophon.errors import NotFound, SophonError, StoreError
from sophon.pipeline import Pipeline
from sophon.services import Services
from sophon_hosting.events.feed import EventFeed
from sophon_hosting.observing.scope import log_scope
from sophon_hosting.queue.contract import Delivery, TaskQueue
from sophon_hosting.runs.endings import Ended, Endings
from sophon_hosting.runs.jobs import Job, Jobs
from sophon_hosting.runs.preparing import Prepare, as_it_is
from sophon_hosting.runs.turns import begin_reply_anew, turn_of

log = logging.getLogger("sophon")

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
"""Between two tries to write what the store did not take; the same numbers as for a provider (reference/sophon.md)."""


class Worker:
    """As many takers as `AgentExecution.MaxConcurrentTasks`, each with one run in hand.

    A turn works at most `MaxExecutionTime`, the waiting for people left out, over all its starts; then it fails with
    `timeout`. One that suspends is written out and gives its place free. The order of writes is: begin, the chain, the
    outcome (or the suspension and the hold of its lane), then the queue is told; a process that dies in between leaves
    a run that the next start finds. `cut_off` are runs that a process before this one left in their middle.
    """

    def __init__(
        self,
        services: Services,
        chain: Pipeline,
        queue: TaskQueue,
        jobs: Jobs,
        endings: Endings,
        feed: EventFeed,
        prepare: Prepare = as_it_is,
    ) -> None:
        self._prepare = prepare
        self._services, self._chain, self._queue = services, chain, queue
        self._jobs, self._endings, self._feed = jobs, endings, feed
        self._takers: list[asyncio.Task[None]] = []
        self.cut_off: set[str] = set()

    def start(self) -> None:
        """Begin to take."""
        count = self._services.settings.agent_execution.max_concurrent_tasks
        self._takers = [asyncio.create_task(self._take()) for _ in range(count)]

    async def stop(self, grace_seconds: float) -> None:
        """Take no more, give what runs so long to end, then cut it off where it is: the next start goes on."""
        try:
            async with self._services.clock.timeout(grace_seconds):
                await self._queue.drain()
        except TimeoutError:
            log.warning("%d runs are cut off and go on with the next start", len(self._jobs))
        for job in self._jobs:
            job.stop()
        for job in self._jobs:
            await job.over.wait()
        for taker in self._takers:
            taker.cancel()
        await asyncio.gather(*self._takers, return_exceptions=True)
        self._takers = []

    async def _take(self) -> None:
        while True:
            delivery = await self._queue.take()
            while (other := self._jobs.get(delivery.entry.task_id)) is not None:
                await other.over.wait()
            job = Job(delivery.entry.task_id)
            self._jobs.add(job)
            with log_scope(task_id=job.task_id, session_id=delivery.entry.session_id):  # the task takes it along
                job.work = asyncio.create_task(self._work(job, delivery))
            await asyncio.wait({job.work})

    async def _work(self, job: Job, delivery: Delivery) -> None:
        done = False
        try:
            done = await self._attempt(job)
        except asyncio.CancelledError:
            log.info("run %s is left where it is", job.task_id)
        except Exception:
            log.exception("run %s could not be brought to an end", job.task_id)
        job.ending = True
        try:
            await self._tell_queue(job, delivery, done)
        except Exception:
            log.exception("the queue was not told of run %s", job.task_id)
        finally:
            if self._jobs.get(job.task_id) is job:
                self._jobs.discard(job)

    async def _attempt(self, job: Job) -> bool:
        """Whether the queue can forget it."""
        try:
            await self._carry_out(job)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or not job.cancel_wanted:
                raise
            task.uncancel()
            job.run = job.run or await self._services.store.runs.get(job.task_id)
            if not job.concluded:
                await self._endings.cancel(job)
        return job.concluded or job.suspended

    async def _carry_out(self, job: Job) -> None:
        services = self._services
        try:
            begun = await services.store.runs.begin(job.task_id, services.clock.now())
        except NotFound:  # its session was deleted
            job.concluded = True
            return
        job.run = run = begun.run
        if begun.verdict == "over":
            job.concluded = True
            return
        if begun.verdict == "cancelled":
            await self._endings.cancel(job)
            return
        try:
            job.ctx = await turn_of(services, await self._prepare(run), fresh=run.starts == 1)
        except StoreError:
            raise
        except SophonError as error:
            await self._endings.fail(job, error)
            return
        if job.task_id in self.cut_off:
            self.cut_off.discard(job.task_id)
            begin_reply_anew(job.ctx, run)
        with log_scope(trace_id=run.options.get("trace"), user=run.owner):
            log.info("the turn begins, start %d", run.starts)
            await self._run(job, job.ctx)
            log.info("the turn waits for a person" if job.suspended else "the turn has ended")

    async def _run(self, job: Job, ctx: Context) -> None:
        allowed = self._services.settings.agent_execution.max_execution_time
        limit: asyncio.Timeout | None = None
        try:
            async with self._services.clock.timeout(allowed.total_seconds() - ctx.watch.seconds) as limit:
                job.limit = limit
                try:
                    response = await self._chain.run(ctx)
                finally:
                    job.limit = None
        except Exception as raised:  # noqa: BLE001 - whatever a chain raises is the outcome of its run
            if not (job.concluded or job.unwritten):
                out_of_time = limit is not None and limit.expired() and isinstance(raised, TimeoutError)
                late = Ended("timeout", f"the task did not end within {allowed} (AgentExecution.MaxExecutionTime)")
                await self._endings.fail(job, late if out_of_time else raised)
            return
        if response.finish_reason == "suspended":
            await self._suspend(job, ctx)
        elif not (job.concluded or job.unwritten):
            await self._endings.complete(job, response)

    async def _suspend(self, job: Job, ctx: Context) -> None:
        """Written out first, then the lane is held, then the delivery ends: the place is free, the session waits."""
        job.ending = True
        await self._feed.flush(ctx.session_id)
        run = await self._services.store.runs.suspend(job.task_id, ctx.state(), job.asked)
        if run.cancel_requested:
            await self._endings.cancel(job)
            return
        await self._queue.hold(run.session_id, job.task_id)
        job.suspended = True

    async def _tell_queue(self, job: Job, delivery: Delivery, done: bool) -> None:
        entry = delivery.entry
        if done:
            if not job.suspended:
                if job.asked and job.run is not None:
                    await self._endings.withdraw(job.run)
                await self._queue.free(entry.session_id, entry.task_id)
            self._jobs.discard(job)
            await self._queue.ack(delivery)
            return
        if not job.stopping:
            await self._services.clock.sleep(
                min(FIRST_PAUSE_SECONDS * 2 ** (delivery.count - 1), LONGEST_PAUSE_SECONDS)
            )
        self.cut_off.add(entry.task_id)
        self._jobs.discard(job)
        if await self._queue.give_back(delivery) == "dead":
            await self._give_up(entry.task_id, delivery.count)

    async def _give_up(self, task_id: str, count: int) -> None:
        run = await self._services.store.runs.get(task_id)
        if not run.over:
            await self._endings.fail_at_rest(run, Ended("gave_up", f"the task could not be ended in {count} tries"))
