"""Worker: take runs from the queue, run each through the chain, and ensure that each gets exactly one outcome."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from sophon.cancellation import Cancellation
from sophon.chain.pipeline import Pipeline
from sophon.chain.pipeline_registry import PipelineRegistry
from sophon.context import Context
from sophon.context.usage_rows import usage_rows
from sophon.errors import NotFound, SophonError, StoreError, StoreUnavailable
from sophon.failure_log import log_failure
from sophon.services import Services
from sophon.stores.runs.contract import Run
from sophon.stores.runs.transitions import begin_run
from sophon.trace_context import PROPAGATED
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.observability.log_context import log_context
from sophon_hosting.queue.contract import Delivery, TaskQueue
from sophon_hosting.runs.abnormal_termination import RunAborted, RunTerminator
from sophon_hosting.runs.accepted_runs import AcceptedRuns
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns
from sophon_hosting.runs.checkpoint_store import suspend_run
from sophon_hosting.runs.direct_calls import DirectChains
from sophon_hosting.runs.preparation import PrepareRun, prepare_nothing
from sophon_hosting.runs.traces import find_trace_origin
from sophon_hosting.runs.turn_factory import build_turn, restart_reply
from sophon_hosting.runs.turn_services import services_for_turn
from sophon_hosting.shutdown import drain_or_interrupt
from sophon_middlewares.inner.direct_call import DIRECT_CALL
from sophon_middlewares.outer.session_events import SessionEvents
from sophon_middlewares.outer.trace import TRACE_ORIGIN

log = logging.getLogger("sophon")

T = TypeVar("T")

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off before retrying a run whose outcome the store refused; as for providers (reference/sophon.md)."""


class Worker:
    """Worker: `AgentExecution.MaxConcurrentTasks` consumer tasks, each running one turn at a time.

    A turn may run for `MaxExecutionTime` in total over all its starts, not counting the time it waits for people; then
    it is stopped wherever it is, and fails with `timeout`. Normally `Budget.Turn.ActiveTime` ends it before, between
    two calls and with an answer; this limit is for a call that does not return. A suspended turn is stored and frees
    its consumer. Order of writes: begin, with the user's message if the chain records it (`RunTurnLog.begin`), the
    rest of the turn, the outcome (or the suspension and the hold of the lane), then the queue's ack; after a crash in
    between, recovery finds the run. While the store is unavailable no turn starts, and a
    running one waits at its next operation on the store, within its time limit. A turn that cannot wait, because it has
    not begun, is run again afterwards; that does not count as one of its attempts. An outcome that the store does not
    take is kept in memory and written again until it does. `interrupted_run_ids` holds the ids of runs that a previous
    process interrupted.
    """

    def __init__(
        self,
        services: Services,
        pipelines: PipelineRegistry,
        queue: TaskQueue,
        active_runs: ActiveRuns,
        terminator: RunTerminator,
        event_bus: EventBus,
        accepted_runs: AcceptedRuns,
        prepare: PrepareRun = prepare_nothing,
    ) -> None:
        self._prepare = prepare
        self._services, self.pipelines, self._queue = services, pipelines, queue
        self._active_runs, self._terminator, self._event_bus = active_runs, terminator, event_bus
        self._accepted_runs = accepted_runs
        # The same for all of them.
        self._begins_in_chain = any(isinstance(middleware, SessionEvents) for middleware in pipelines.default)
        self._direct_chains = DirectChains()
        self._consumers: list[asyncio.Task[None]] = []
        self.interrupted_run_ids: set[str] = set()

    def start(self) -> None:
        """Start the consumer tasks."""
        count = self._services.settings.agent_execution.max_concurrent_tasks
        self._consumers = [asyncio.create_task(self._consume()) for _ in range(count)]

    async def shutdown(self, grace_seconds: float) -> None:
        """Shut down: wait `grace_seconds` for running turns, interrupt the rest, and end the consumer tasks."""
        await drain_or_interrupt(self._queue, self._active_runs, self._services.clock, grace_seconds)
        for consumer in self._consumers:
            consumer.cancel()
        await asyncio.gather(*self._consumers, return_exceptions=True)
        self._consumers = []

    async def _consume(self) -> None:
        while True:
            await self._services.store.health.wait_until_available()
            await self._consume_delivery(await self._queue.take())

    async def _consume_delivery(self, delivery: Delivery) -> None:
        """Run a turn. A method of its own, so that a consumer that waits holds nothing of its last turn."""
        while (previous := self._active_runs.get(delivery.entry.task_id)) is not None:
            await previous.released.wait()
        active_run = ActiveRun(delivery.entry.task_id)
        self._active_runs.add(active_run)
        # The task created inside inherits the log context.
        with log_context(task_id=active_run.task_id, session_id=delivery.entry.session_id):
            active_run.worker_task = asyncio.create_task(self._work(active_run, delivery))
        await asyncio.wait({active_run.worker_task})

    async def _work(self, active_run: ActiveRun, delivery: Delivery) -> None:
        can_ack, is_counted = False, True
        try:
            can_ack = await self._attempt(active_run)
        except StoreUnavailable as error:
            is_counted = False
            log_failure(log, error, "run %s waits for the store", active_run.task_id)
        except asyncio.CancelledError:
            can_ack = active_run.has_outcome  # if it was recorded before the interruption was delivered
            log.info("run %s was interrupted", active_run.task_id)
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "run %s failed without an outcome", active_run.task_id)
        active_run.is_finalizing = True
        try:
            await self._settle_delivery(active_run, delivery, can_ack, is_counted)
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "the queue entry of run %s could not be settled", active_run.task_id)
        finally:
            # Whatever has interrupted the settlement, as a shutdown while the store is unavailable.
            self._terminator.keep_usage(active_run)
            if self._active_runs.get(active_run.task_id) is active_run:
                self._active_runs.remove(active_run)

    async def _attempt(self, active_run: ActiveRun) -> bool:
        """Run or resume the turn; return whether the delivery can be acked."""
        try:
            await self._run_turn(active_run)
        except StoreUnavailable:
            if active_run.held_outcome is None:
                raise
        if active_run.held_outcome is not None:
            log.debug("the outcome of run %s waits for the store", active_run.task_id)
            await self._write_until_stored(active_run, lambda: self._terminator.write_held_outcome(active_run))
            if active_run.run is not None:
                run = active_run.run
                await self._write_until_stored(active_run, lambda: self._terminator.withdraw_approvals(run))
        return active_run.has_outcome or active_run.is_suspended

    async def _run_turn(self, active_run: ActiveRun) -> None:
        try:
            await self._start_turn(active_run)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or not active_run.is_cancel_requested:
                raise
            task.uncancel()
            active_run.run = active_run.run or await self._services.store.runs.get(active_run.task_id)
            if not active_run.has_outcome and active_run.held_outcome is None:
                await self._terminator.cancel(active_run)

    async def _start_turn(self, active_run: ActiveRun) -> None:
        services = self._services
        try:
            stored = self._accepted_runs.take(active_run.task_id) or await services.store.runs.get(active_run.task_id)
            start = begin_run(stored, services.clock.now())
            active_run.must_begin = start.verdict == "begun" and self._begins_in_chain and start.run.checkpoint is None
            if start.verdict == "begun" and not active_run.must_begin:
                start = await services.store.runs.begin(active_run.task_id, services.clock.now())
        except NotFound:  # its session was deleted
            active_run.has_outcome = True
            return
        active_run.run = run = start.run
        # A killed process may have left a question that a running call had asked.
        active_run.may_have_asked = run.starts > 1
        if start.verdict == "over":
            active_run.has_outcome = True
            return
        if start.verdict == "cancelled":
            await self._terminator.cancel(active_run)
            return
        try:
            async with Cancellation().enforce():
                prepared = await self._prepare(run)
                view = services_for_turn(services, active_run, run.session_id, self._event_bus)
                active_run.ctx = ctx = await build_turn(view, prepared, is_first_start=run.starts == 1)
                if services.settings.traces.enabled:
                    self._note_origin(ctx, run)
                active_run.stored_usage = usage_rows(ctx.tally.unrecorded, ctx.session_id, run.id, services.clock.now())
        except StoreError:
            raise
        except SophonError as error:
            await self._terminator.fail(active_run, error)
            return
        if active_run.task_id in self.interrupted_run_ids:
            self.interrupted_run_ids.discard(active_run.task_id)
            restart_reply(active_run.ctx, run)
        with log_context(trace_id=run.options.get("trace"), user=run.owner):
            log.info("turn started, start %d", run.starts)
            await self._run_chain(active_run, active_run.ctx)
            log.info(_describe_end(active_run))

    def _note_origin(self, ctx: Context, run: Run) -> None:
        """Note where the turn comes from; with telemetry, what it calls gets its trace context."""
        origin = find_trace_origin(run, self._services.clock.now())
        ctx.put(TRACE_ORIGIN, origin)
        if self._services.settings.telemetry.endpoint is not None and self._services.learns:
            PROPAGATED.set(origin.context)  # of the task of this turn

    async def _run_chain(self, active_run: ActiveRun, ctx: Context) -> None:
        allowed = self._services.settings.agent_execution.max_execution_time
        limit: asyncio.Timeout | None = None
        try:
            async with self._services.clock.timeout(allowed.total_seconds() - ctx.stopwatch.seconds) as limit:
                active_run.timeout = limit
                try:
                    response = await self._find_chain(ctx).run(ctx)
                finally:
                    active_run.timeout, active_run.is_chain_over = None, True
        except Exception as error:
            if isinstance(error, StoreUnavailable) and not active_run.has_outcome and active_run.held_outcome is None:
                raise
            if not active_run.is_concluded:
                timed_out = limit is not None and limit.expired() and isinstance(error, TimeoutError)
                timeout_error = RunAborted(
                    "timeout", f"the task did not end within {allowed} of work (AgentExecution.MaxExecutionTime)"
                )
                await self._terminator.fail(active_run, timeout_error if timed_out else error)
            return
        if response.finish_reason == "suspended":
            await self._suspend(active_run, ctx)
        elif not active_run.is_concluded:
            await self._terminator.complete(active_run, response)

    def _find_chain(self, ctx: Context) -> Pipeline | PipelineRegistry:
        return self._direct_chains.find(self.pipelines.default) if ctx.get(DIRECT_CALL) else self.pipelines

    async def _suspend(self, active_run: ActiveRun, ctx: Context) -> None:
        """Store the suspended turn, then hold its lane; the caller acks the delivery afterwards."""
        active_run.is_finalizing = True

        async def suspend() -> Run:
            return await suspend_run(self._event_bus, self._services.store.runs, active_run, ctx)

        run = await self._write_until_stored(active_run, suspend)
        if run.cancel_requested:
            await self._terminator.cancel(active_run)
            return
        await self._queue.hold_lane(run.session_id, active_run.task_id)
        active_run.is_suspended = True

    async def _settle_delivery(
        self, active_run: ActiveRun, delivery: Delivery, can_ack: bool, is_counted: bool
    ) -> None:
        entry = delivery.entry
        if can_ack:
            if not active_run.is_suspended:
                if active_run.may_have_asked and active_run.run is not None:
                    run = active_run.run
                    await self._write_until_stored(active_run, lambda: self._terminator.withdraw_approvals(run))
                await self._queue.release_lane(entry.session_id, entry.task_id)
            self._active_runs.remove(active_run)
            await self._queue.ack(delivery)
            return
        if not active_run.is_interrupted:
            backoff_seconds = min(INITIAL_BACKOFF_SECONDS * 2 ** (delivery.delivery_count - 1), MAX_BACKOFF_SECONDS)
            await self._wait_for_store(active_run, partial(self._services.clock.sleep, backoff_seconds))
            await self._wait_for_store(active_run, self._services.store.health.wait_until_available)
        await self._record_lost_usage(active_run)
        self.interrupted_run_ids.add(entry.task_id)
        self._active_runs.remove(active_run)
        if await self._queue.nack(delivery, is_counted=is_counted) == "dead":
            await self._write_until_stored(active_run, lambda: self._give_up(entry.task_id, delivery.delivery_count))

    async def _record_lost_usage(self, active_run: ActiveRun) -> None:
        def record() -> Awaitable[None]:
            return self._terminator.record_lost_usage(active_run)

        try:
            await (record() if active_run.is_interrupted else self._write_until_stored(active_run, record))
        except Exception as error:  # noqa: BLE001 - logged; the delivery must be settled whatever happens here
            log_failure(log, error, "the usage of run %s could not be recorded", active_run.task_id)

    async def _write_until_stored(self, active_run: ActiveRun, write: Callable[[], Awaitable[T]]) -> T:
        """Repeat a write until the store takes it; a shutdown interrupts the wait between two attempts."""
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while True:
            try:
                return await write()
            except StoreUnavailable:
                await self._wait_for_store(active_run, self._services.store.health.wait_until_writable)
                await self._wait_for_store(active_run, partial(self._services.clock.sleep, backoff_seconds))
            backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)

    async def _wait_for_store(self, active_run: ActiveRun, wait: Callable[[], Awaitable[None]]) -> None:
        if active_run.is_interrupted:  # during the write: nobody cancels the wait
            raise asyncio.CancelledError
        active_run.is_waiting_for_store = True
        try:
            await wait()
        finally:
            active_run.is_waiting_for_store = False

    async def _give_up(self, task_id: str, count: int) -> None:
        run = await self._services.store.runs.get(task_id)
        if not run.is_finished:
            await self._terminator.fail_inactive(
                run, RunAborted("gave_up", f"the task reached no outcome in {count} attempts")
            )


def _describe_end(active_run: ActiveRun) -> str:
    if active_run.held_outcome is not None:
        return "turn ended, its outcome waits for the store"
    return "turn suspended" if active_run.is_suspended else "turn ended"
