"""Plan execution: runs each step as soon as its dependencies are completed, with bounded concurrency."""

import asyncio
from collections import deque

from sophon.context import Context
from sophon.events import PlanStepChanged
from sophon.messages import Response, ToolCall
from sophon.plans import PlanStep, PlanStepStatus
from sophon_middlewares.inner.reply import end_turn
from sophon_middlewares.outer.plan.plan_state import PlanState
from sophon_middlewares.outer.plan.step_turn import StepResult, run_step


async def run_steps(ctx: Context, state: PlanState) -> bool:
    """Run all steps; return True once every step has ended, else set `ctx.response` to the reason for ending the turn.

    An error that ends the turn, and a cancellation, stop the other steps, mark unfinished steps as cancelled, and
    propagate unchanged. Called again, the stopped steps continue where they were.
    """
    reopened = state.progress.reopen_cancelled()
    run = _PlanRun(ctx, state)
    run.announce_running(reopened)
    try:
        async with asyncio.TaskGroup() as group:
            await run.run_until_blocked(group)
    except asyncio.CancelledError:
        run.cancel_rest("the turn was cancelled")
        raise
    if run.error is not None:
        run.cancel_rest(f"the turn ended: {run.error}")
        raise run.error
    if run.refusal is not None:
        run.cancel_rest(f"the turn ended: {run.refusal}")
        end_turn(ctx, Response(run.refusal, "rejected", detail={"plan": state.progress.plan.id}))
        return False
    if state.active_turns:
        ctx.response = build_suspended_response(list(state.active_turns.values()))
        return False
    return True


def build_suspended_response(turns: list[Context]) -> Response:
    """Return the suspended response of a turn whose steps wait for approval."""
    responses = [turn.response for turn in turns if turn.response is not None]
    calls: list[ToolCall] = [call for response in responses for call in response.tool_calls]
    return Response(" ".join(response.text for response in responses), "suspended", tool_calls=calls)


class _PlanRun:
    """The tasks of one plan execution.

    A step's own task records its end, in the same tick in which its turn ends: a checkpoint that another step writes in
    between would have neither the turn nor the result, and the step would run again after a kill.
    """

    __slots__ = ("_ctx", "_resumed_steps", "_state", "_tasks", "error", "refusal")

    def __init__(self, ctx: Context, state: PlanState) -> None:
        self._ctx = ctx
        self._state = state
        self._resumed_steps = deque(state.progress.list_running())
        self._tasks: dict[asyncio.Task[None], PlanStep] = {}
        self.error: Exception | None = None
        """Exception that ends the whole turn."""
        self.refusal: str | None = None
        """Set if an approval of a step timed out and `Approval.OnTimeout` is Halt."""

    async def run_until_blocked(self, group: asyncio.TaskGroup) -> None:
        """Start ready steps and handle ended ones until all have ended, are suspended, or are stopped."""
        while self._start(group):
            try:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                for task in self._tasks:  # in start order; a TaskGroup cancels in no particular order
                    task.cancel()
                raise
            for task in [task for task in self._tasks if task.done()]:
                del self._tasks[task]
            if self.error is not None or self.refusal is not None:
                for task in self._tasks:
                    task.cancel()
                return

    def announce_running(self, steps: list[PlanStep]) -> None:
        """Emit that steps are running again."""
        for step in steps:
            self._emit_status(step, "running")

    def cancel_rest(self, reason: str) -> None:
        """Mark every unfinished step as cancelled; its turn is kept, for a chain that is entered again."""
        for step in self._state.progress.cancel_unfinished(reason):
            self._emit_status(step, "cancelled", reason)

    def _start(self, group: asyncio.TaskGroup) -> bool:
        """Start steps up to the concurrency limit; return whether any is running."""
        while len(self._tasks) < self._ctx.settings.planning.concurrency:
            step = self._next_step()
            if step is None:
                break
            self._tasks[group.create_task(self._run_guarded(step))] = step
        return bool(self._tasks)

    def _next_step(self) -> PlanStep | None:
        if self._resumed_steps:
            return self._resumed_steps.popleft()
        ready = self._state.progress.list_ready()
        if not ready:
            return None
        self._state.progress.start(ready[0].id)
        self._emit_status(ready[0], "running")
        return ready[0]

    async def _run_guarded(self, step: PlanStep) -> None:
        try:
            async with self._ctx.cancellation.enforce():
                self._record_end(step, await run_step(self._ctx, self._state, step))
        except Exception as error:  # noqa: BLE001 - raised by run_steps once the other steps have stopped
            self.error = self.error or error

    def _record_end(self, step: PlanStep, end: StepResult) -> None:
        progress = self._state.progress
        if end.status == "completed":
            progress.complete(step.id, end.text)
            self._emit_status(step, "completed")
        elif end.status == "refused" and self._ctx.settings.approval.on_timeout == "Halt":
            self.refusal = end.text
        elif end.status != "suspended":
            skipped = progress.fail(step.id, end.text)
            self._emit_status(step, "failed", end.text)
            for other in skipped:
                self._emit_status(other.step, "skipped", other.reason)

    def _emit_status(self, step: PlanStep, status: PlanStepStatus, reason: str = "") -> None:
        self._ctx.emit(PlanStepChanged(step_id=step.id, status=status, reason=reason))
