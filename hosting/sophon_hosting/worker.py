"""Worker: take runs from the queue, run each through the chain, and ensure that each gets exactly one outcome."""

import asyncio
import logging
from dataclasses import replace
from functools import partial

from sophon.cancellation import Cancellation
from sophon.chain.pipeline import Pipeline
from sophon.context import Context
from sophon.errors import NotFound, SophonError, StoreError, StoreUnavailable
from sophon.failure_log import log_failure
from sophon.services import Services
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.task_timeout import TaskTimeout
from sophon.traces.trace_context import PROPAGATED
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.observability.log_context import log_context
from sophon_hosting.queue.contract import Delivery, TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.runs.abnormal_termination import RunAborted, RunTerminator, interrupted_error
from sophon_hosting.runs.active_runs import AcceptedRuns, ActiveRun, ActiveRuns
from sophon_hosting.runs.checkpoints.checkpoint_store import suspend_run
from sophon_hosting.runs.delivery_settlement import (
    INITIAL_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
    DeliverySettlement,
    write_until_stored,
)
from sophon_hosting.runs.direct_calls import DirectChains
from sophon_hosting.runs.lease_renewal import LeaseRenewal
from sophon_hosting.runs.outcomes import begin_fence
from sophon_hosting.runs.queue_entries import has_decision
from sophon_hosting.runs.recovery.crash_suspect_isolation import MAX_LOST_DELIVERIES, POSTPONED_SECONDS, CrashSuspects
from sophon_hosting.runs.traces import find_trace_origin, load_logged_events
from sophon_hosting.runs.turn_factory import PrepareRun, build_turn, restart_reply
from sophon_hosting.runs.turn_store import services_for_turn
from sophon_hosting.settings.telemetry import TelemetrySettings
from sophon_hosting.shutdown import drain_or_interrupt
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import BeginResult, BeginVerdict, OutdatedRun, Run
from sophon_hosting.store.runs.transitions import begin_run
from sophon_middlewares.outer.budget.budget import usage_rows
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.stages.direct_call import DIRECT_CALL
from sophon_middlewares.traces.trace import TRACE_ORIGIN

log = logging.getLogger("sophon")


class Worker:
    """Worker: `AgentExecution.MaxConcurrentTasks` consumer tasks, each running one turn at a time.

    A turn may run for `MaxExecutionTime` in total over all its starts, not counting the time it waits for people, nor
    that between its last checkpoint and a kill; then it is stopped wherever it is, and fails with `timeout`. Normally
    it sums up before, between two calls and with an answer (`sophon_middlewares.tool_calls.tool_limits`); this limit is
    for a call that does not return. A suspended turn is stored and frees its consumer. Order of writes: begin, with the
    user's message if the chain records it (`RunTurnLog.begin`), the rest of the turn, the outcome (or the suspension
    and the hold of the lane), then the queue's ack; after a crash in between, recovery finds the run. While the store
    is unavailable no turn starts, and a running one waits at its next operation on the store, within its time limit. A
    turn that cannot wait, because it has not begun, is run again afterwards; that does not count as one of its
    attempts. An outcome that the store does not take is kept in memory and written again until it does.

    A run that the store has as running when it is delivered was interrupted, with its process or by an error: it
    resumes from its checkpoint, or restarts. Where several processes share the queue, the leases of the deliveries are
    renewed meanwhile, and the interrupted run may have been another process's.
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
        health: QueueHealth,
        prepare: PrepareRun | None = None,
    ) -> None:
        self._prepare, self._health = prepare, health
        self._services, self._store = services, host_store(services)
        self.pipelines, self._queue = pipelines, queue
        self._active_runs, self._terminator, self._event_bus = active_runs, terminator, event_bus
        self._accepted_runs = accepted_runs
        # A host's chains have SessionEvents all, or none of them.
        self._begins_in_chain = any(isinstance(middleware, SessionEvents) for middleware in pipelines.default)
        self._direct_chains = DirectChains()
        telemetry = services.settings.section(TelemetrySettings)
        self._propagates_traces = telemetry.endpoint is not None and services.learning.is_enabled
        self._leases = LeaseRenewal(queue, services.clock, health)
        self._settlement = DeliverySettlement(services, queue, active_runs, terminator, event_bus, self._leases)
        self._crash_suspects = CrashSuspects()
        self._consumers: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the consumer tasks, and the renewal of their leases."""
        count = self._services.settings.agent_execution.max_concurrent_tasks
        self._consumers = [asyncio.create_task(self._consume()) for _ in range(count)]
        self._consumers.append(asyncio.create_task(self._leases.run_forever()))

    async def shutdown(self, grace_seconds: float) -> None:
        """Shut down: wait `grace_seconds` for running turns, interrupt the rest, and end the consumer tasks."""
        await drain_or_interrupt(self._queue, self._active_runs, self._services.clock, grace_seconds)
        await end_tasks(*self._consumers)
        self._consumers = []

    async def _consume(self) -> None:
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while True:
            await self._store.health.wait_until_available()
            try:
                with self._health.watch():
                    delivery = await self._queue.take()
            except Exception as error:  # noqa: BLE001 - logged, and tried again: a consumer that ends is missing for good
                if not isinstance(error, QueueUnavailable):  # as of a queue that does not wait for its server
                    log_failure(log, error, "the queue delivers nothing")
                await self._services.clock.sleep(backoff_seconds)
                backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)
                continue
            backoff_seconds = INITIAL_BACKOFF_SECONDS
            if delivery.delivery_count <= MAX_LOST_DELIVERIES:
                await self._consume_delivery(delivery)
            elif self._crash_suspects.admits(delivery):
                with self._crash_suspects.run(delivery):
                    await self._consume_delivery(delivery)
            else:
                await self._settlement.leave(delivery, POSTPONED_SECONDS)
            del delivery

    async def _consume_delivery(self, delivery: Delivery) -> None:
        """Run a turn. A method of its own, so that a consumer that waits holds nothing of its last turn."""
        active_run = ActiveRun(
            delivery.entry.task_id,
            renewal_seconds=self._leases.interval_seconds,
            unsettled=self._active_runs.unsettled,
        )
        self._leases.held[active_run] = delivery
        while (previous := self._active_runs.get(delivery.entry.task_id)) is not None:
            await previous.released.wait()
        self._active_runs.add(active_run)
        # The task created inside inherits the log context.
        with log_context(task_id=active_run.task_id, session_id=delivery.entry.session_id):
            work = asyncio.create_task(self._work(active_run, delivery))
        await asyncio.wait({work})

    async def _work(self, active_run: ActiveRun, delivery: Delivery) -> None:
        # Not before: a task that is cancelled before its first step runs none, and the run would stay active for ever.
        active_run.worker_task = asyncio.current_task()
        can_ack, is_counted = await self._try_turn(active_run)
        active_run.is_finalizing = True
        try:
            if can_ack:
                await self._settlement.ack(active_run, delivery)
            else:
                await self._settlement.give_back(active_run, delivery, is_counted=is_counted)
        except QueueUnavailable as error:  # its lease ends, and it is delivered again
            self._health.note_failure(error)
            await self._settlement.leave(delivery)
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "the queue entry of run %s could not be settled", active_run.task_id)
            await self._settlement.leave(delivery)
        finally:
            # Whatever has interrupted the settlement, as a shutdown while the store is unavailable.
            self._leases.held.pop(active_run, None)
            if active_run.usage:  # of which the store has no more than the part in its checkpoint
                self._terminator.keep_usage(active_run)
            if active_run.fence is not None:
                self._event_bus.session(delivery.entry.session_id).release_fence(active_run.fence)
            if self._active_runs.get(active_run.task_id) is active_run:
                self._active_runs.remove(active_run)

    async def _try_turn(self, active_run: ActiveRun) -> tuple[bool, bool]:
        """Run or resume the turn; return whether its delivery can be acked, and whether it counts as an attempt."""
        try:
            await self._run_turn(active_run)
        except StoreUnavailable as error:
            log_failure(log, error, "run %s waits for the store", active_run.task_id)
            return False, False
        except StaleRun:
            active_run.is_stale = True
        except OutdatedRun:
            active_run.is_outdated = True
        except asyncio.CancelledError:
            if not active_run.is_stale:
                log.info("run %s was interrupted", active_run.task_id)
            # The outcome may have been recorded before; a shutdown brings a task no nearer to the dead letters.
            return active_run.has_outcome, not active_run.is_interrupted
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "run %s failed without an outcome", active_run.task_id)
        else:
            return active_run.has_outcome or active_run.is_suspended, True
        return False, True

    async def _run_turn(self, active_run: ActiveRun) -> None:
        """Run or resume the turn; a user's cancellation ends here, and an outcome that it holds is stored at last."""
        try:
            try:
                await self._start_turn(active_run)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or active_run.is_stale or not active_run.is_cancel_requested:
                    raise
                task.uncancel()
                active_run.run = active_run.run or await self._store.runs.get(active_run.task_id)
                if not active_run.has_outcome and active_run.held_outcome is None:
                    await self._terminator.cancel(active_run)
        except StoreUnavailable:
            if active_run.held_outcome is None:
                raise
        if active_run.held_outcome is not None:
            log.debug("the outcome of run %s waits for the store", active_run.task_id)
            write = partial(self._terminator.write_held_outcome, active_run)
            await write_until_stored(self._services, active_run, write)

    async def _start_turn(self, active_run: ActiveRun) -> None:
        if active_run.is_cancel_requested or active_run.is_interrupted or active_run.is_stale:
            raise asyncio.CancelledError  # since before its task began
        try:
            task_id = active_run.task_id
            stored = self._accepted_runs.take(task_id) or await self._store.runs.get(task_id)
            if stored.status == "suspended" and await self._waits_for_people(stored):
                await self._hold_lane(active_run, stored)
                return
            verdict = await self._begin(active_run, stored)
        except NotFound:  # its session was deleted
            active_run.has_outcome = True
            return
        run = active_run.run
        assert run is not None
        if verdict == "cancelled":
            await self._terminator.cancel(active_run)
        if verdict != "begun":
            active_run.has_outcome = active_run.has_outcome or verdict == "over"
            return
        is_interrupted, is_shared = stored.status == "running", self._queue.is_shared
        if is_interrupted and is_shared and self._services.settings.agent_execution.recovery == "Fail":
            await self._terminator.fail(active_run, interrupted_error())
            return
        if run.starts > 1 and is_shared:
            await self._event_bus.load_run_events(run)
        ctx = await self._build_turn(active_run, run)
        if ctx is None:
            return
        if is_interrupted:
            restart_reply(ctx, run)
        with log_context(trace_id=run.options.get("trace"), user=run.owner):
            log.info("turn started, start %d", run.starts)
            await self._run_chain(active_run, ctx)
            is_held, is_suspended = active_run.held_outcome is not None, active_run.is_suspended
            held = "turn ended, its outcome waits for the store"
            log.info(held if is_held else "turn suspended" if is_suspended else "turn ended")

    async def _begin(self, active_run: ActiveRun, stored: Run) -> BeginVerdict:
        """Begin the run, unless its chain does that with the first records of the turn. Raises NotFound, StoreError."""
        start = begin_run(stored, self._services.clock.now())
        active_run.must_begin = start.verdict == "begun" and self._begins_in_chain and start.run.checkpoint is None
        if start.verdict == "begun" and not active_run.must_begin:
            start = await self._begin_in_store(active_run, stored)
        active_run.run, active_run.waits_for = start.run, start.waits_for
        # A killed process may have left a question that a running call had asked.
        active_run.may_have_asked = start.run.starts > 1
        if start.verdict == "begun" and not active_run.must_begin:
            begin_fence(active_run, self._event_bus)
        return start.verdict

    async def _begin_in_store(self, active_run: ActiveRun, stored: Run) -> BeginResult:
        # Before the write, which completes also if the turn is cancelled meanwhile.
        active_run.fence = RunFence(stored.id, stored.starts + 1)
        now = self._services.clock.now()
        start = await host_store(self._services).runs.begin(
            stored.id, now, seen_starts=stored.starts, seen_text=stored.text
        )
        if start.verdict != "begun":
            active_run.fence = None
        return start

    async def _waits_for_people(self, run: Run) -> bool:
        """Return whether a suspended run was delivered though nobody has decided: the worker that suspended it died
        before its ack.
        """
        if run.cancel_requested or not self._queue.is_shared:
            return False
        return not await has_decision(self._store, run)

    async def _build_turn(self, active_run: ActiveRun, run: Run) -> Context | None:
        """Return the turn of a run; None if it cannot be built, and then the run has failed. Raises StoreError."""
        services = self._services
        try:
            async with Cancellation().enforce():
                prepared = run if self._prepare is None else await self._prepare(run)
                view = services_for_turn(services, self._store, active_run, run.session_id, self._event_bus)
                active_run.ctx = ctx = await build_turn(view, prepared, is_first_start=run.starts == 1)
                if services.settings.traces.enabled:
                    origin = find_trace_origin(run, services.clock.now())
                    if ctx.resumed:
                        load_logged = partial(load_logged_events, host_store(view).events, run)
                        origin = replace(origin, load_logged=load_logged)
                    ctx.put(TRACE_ORIGIN, origin)
                    if self._propagates_traces:
                        PROPAGATED.set(origin.context)  # of the task of this turn: what it calls gets its trace context
                active_run.stored_usage = usage_rows(ctx.tally.unrecorded, ctx.session_id, run.id, services.clock.now())
        except StoreError:
            raise
        except SophonError as error:
            await self._terminator.fail(active_run, error)
            return None
        return ctx

    async def _run_chain(self, active_run: ActiveRun, ctx: Context) -> None:
        allowed = self._services.settings.agent_execution.max_execution_time
        limit = TaskTimeout(self._services.clock, allowed.total_seconds() - ctx.stopwatch.seconds)
        try:
            async with limit:
                active_run.timeout = limit
                try:
                    chain: Pipeline | PipelineRegistry = self.pipelines
                    if ctx.get(DIRECT_CALL):
                        chain = self._direct_chains.find(self.pipelines.default)
                    response = await chain.run(ctx)
                finally:
                    active_run.timeout, active_run.is_chain_over = None, True
        except Exception as error:
            if isinstance(error, StoreUnavailable) and not active_run.has_outcome and active_run.held_outcome is None:
                raise
            if not active_run.is_concluded:
                timed_out = limit.expired() and isinstance(error, TimeoutError)
                timeout_error = RunAborted(
                    "timeout", f"the task did not end within {allowed} of work (AgentExecution.MaxExecutionTime)"
                )
                await self._terminator.fail(active_run, timeout_error if timed_out else error)
            return
        if response.finish_reason == "suspended":
            await self._suspend(active_run, ctx)
        elif not active_run.is_concluded:
            await self._terminator.complete(active_run, response)

    async def _suspend(self, active_run: ActiveRun, ctx: Context) -> None:
        """Store the suspended turn, then hold its lane; the caller acks the delivery afterwards."""
        active_run.is_finalizing = True

        async def suspend() -> Run:
            return await suspend_run(self._event_bus, self._store.runs, active_run, ctx)

        run = await write_until_stored(self._services, active_run, suspend)
        if run.cancel_requested:
            await self._terminator.cancel(active_run)
            return
        await self._hold_lane(active_run, run)

    async def _hold_lane(self, active_run: ActiveRun, run: Run) -> None:
        """Hold the lane of a suspended run, unless another process has cancelled it meanwhile."""
        active_run.is_finalizing = True
        try:
            with self._health.watch():
                await self._queue.hold_lane(run.session_id, active_run.task_id)
        except QueueUnavailable:  # the store starts no later run of the session
            active_run.is_suspended = True
            return
        if self._queue.is_shared:
            current = await write_until_stored(self._services, active_run, lambda: self._store.runs.find(run.id))
            if current is None or current.is_finished:
                active_run.has_outcome = True
                return
        active_run.is_suspended = True
