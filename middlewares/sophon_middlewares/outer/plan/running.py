"""Runs the steps of a plan: each as soon as its dependencies are done, so many at once, and no task is left behind."""

import asyncio
from collections import deque

from sophon.context import Context
from sophon.events import PlanStepChanged
from sophon.messages import Response, ToolCall
from sophon.plans import PlanStep, StepStatus
from sophon_middlewares.outer.plan.step import StepEnd, carry_out
from sophon_middlewares.outer.plan.work import PlanWork


async def run_steps(ctx: Context, work: PlanWork) -> bool:
    """True once every step has ended, well or badly; else `ctx.response` says why the turn ends here.

    An error that ends the turn, and a cancellation, stop the other steps, mark what had not ended as cancelled, and
    leave as themselves.
    """
    run = _PlanRun(ctx, work)
    try:
        async with asyncio.TaskGroup() as group:
            await run.until_nothing_moves(group)
    except asyncio.CancelledError:
        run.cancel_rest("the turn was cancelled")
        raise
    if run.error is not None:
        run.cancel_rest(f"the turn ended: {run.error}")
        raise run.error
    if run.refusal is not None:
        run.cancel_rest(f"the turn ended: {run.refusal}")
        ctx.response = Response(run.refusal, "rejected", detail={"plan": work.progress.plan.id})
        return False
    if work.turns:
        ctx.response = waiting(list(work.turns.values()))
        return False
    return True


def waiting(turns: list[Context]) -> Response:
    """What a turn says while steps of its plan wait for a person."""
    responses = [turn.response for turn in turns if turn.response is not None]
    calls: list[ToolCall] = [call for response in responses for call in response.tool_calls]
    return Response(" ".join(response.text for response in responses), "suspended", tool_calls=calls)


class _PlanRun:
    """The tasks of one run of a plan. Only the task that runs it changes the plan's progress, but for a retry."""

    __slots__ = ("_ctx", "_interrupted", "_tasks", "_work", "error", "refusal")

    def __init__(self, ctx: Context, work: PlanWork) -> None:
        self._ctx = ctx
        self._work = work
        self._interrupted = deque(work.progress.resumable())
        self._tasks: dict[asyncio.Task[StepEnd | Exception], PlanStep] = {}
        self.error: Exception | None = None
        """What ends the whole turn."""
        self.refusal: str | None = None
        """Nobody answered a question of a step, and `Approval.OnTimeout` is Halt."""

    async def until_nothing_moves(self, group: asyncio.TaskGroup) -> None:
        """Start what may start and take what has ended, until all has ended, waits for a person, or is stopped."""
        while self._start(group):
            try:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                for task in self._tasks:  # in the order in which they were started: the group would do it in none
                    task.cancel()
                raise
            # In the order in which they were started: what happens at one moment is told in one order.
            for task in [task for task in self._tasks if task.done()]:
                self._take(self._tasks.pop(task), task.result())
            if self.error is not None or self.refusal is not None:
                for task in self._tasks:
                    task.cancel()
                return

    def cancel_rest(self, reason: str) -> None:
        """Mark every step that has not ended as cancelled."""
        self._work.turns.clear()
        for step in self._work.progress.cancel_rest(reason):
            self._tell(step, "cancelled", reason)

    def _start(self, group: asyncio.TaskGroup) -> bool:
        """Begin as many steps as there are places; whether any is under way."""
        while len(self._tasks) < self._ctx.settings.planning.concurrency:
            step = self._next()
            if step is None:
                break
            self._tasks[group.create_task(self._guarded(step))] = step
        return bool(self._tasks)

    def _next(self) -> PlanStep | None:
        if self._interrupted:
            return self._interrupted.popleft()
        ready = self._work.progress.ready()
        if not ready:
            return None
        self._work.progress.start(ready[0].id)
        self._tell(ready[0], "running")
        return ready[0]

    async def _guarded(self, step: PlanStep) -> StepEnd | Exception:
        try:
            return await carry_out(self._ctx, self._work, step)
        except Exception as error:  # noqa: BLE001 - raised as itself, once the other steps have stopped
            return error

    def _take(self, step: PlanStep, end: StepEnd | Exception) -> None:
        progress = self._work.progress
        if isinstance(end, Exception):
            self.error = self.error or end
        elif end.how == "completed":
            progress.complete(step.id, end.text)
            self._tell(step, "completed")
        elif end.how == "refused" and self._ctx.settings.approval.on_timeout == "Halt":
            self.refusal = end.text
        elif end.how != "suspended":
            skipped = progress.fail(step.id, end.text)
            self._tell(step, "failed", end.text)
            for other in skipped:
                self._tell(other.step, "skipped", other.reason)

    def _tell(self, step: PlanStep, status: StepStatus, reason: str = "") -> None:
        self._ctx.emit(PlanStepChanged(step_id=step.id, status=status, reason=reason))
