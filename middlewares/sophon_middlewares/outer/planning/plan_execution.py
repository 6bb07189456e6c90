"""Plan execution: runs each step as soon as its dependencies are completed, with bounded concurrency."""

import asyncio
from collections import deque
from collections.abc import Collection
from dataclasses import replace
from typing import Final, Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context, Step, TurnRunner
from sophon.errors import BudgetExceeded, ChainError, SophonError
from sophon.events import AgentStatus, PlanStepChanged
from sophon.messages import Response, ToolCall
from sophon.plans import PlanStep, PlanStepStatus, step_prompt
from sophon.tools.truncation import truncate
from sophon_middlewares.inner.llm_invoker.reply import end_turn
from sophon_middlewares.outer.planning.plan_state import PlanState
from sophon_middlewares.outer.planning.synthesis import result_character_limit

MAX_REASON_CHARACTERS = 1000
"""Maximum characters kept of an error."""

TRIES: Final = 2
"""Attempts per step: the second one receives the error of the first, and a third seldom finds what both have not."""


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


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of a try, and of the step; `text` is the result, or the reason.

    `refused`: a person or a guard rejected it, so it is not retried.
    """

    status: Literal["completed", "failed", "refused", "suspended"]
    text: str


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


async def run_step(ctx: Context, state: PlanState, step: PlanStep) -> StepResult:
    """Run a step until it succeeds or its tries are used up; continue a suspended try.

    Raises what ends the whole turn: BudgetExceeded, ChainError, and anything that is no SophonError.
    """
    if ctx.pipeline is None:
        raise ChainError("plan steps need the turn's pipeline: run the turn through Pipeline.run")
    while True:
        turn = state.active_turns[step.id] = _open_turn(ctx, state, step)
        end = await _run_turn(ctx.pipeline, turn)
        if end.status == "suspended":
            return end
        del state.active_turns[step.id]
        if end.status != "failed" or state.progress[step.id].tries >= TRIES:
            return end
        state.progress.retry(step.id, end.text)
        ctx.emit(AgentStatus(status="retrying", detail=f"step {step.id}: {end.text}"))


def step_run_name(step_id: str, tries: int, step_ids: Collection[str]) -> str:
    """Return the step's part of the run id, unique per try, because the journal is keyed by run id."""
    if tries <= 1:
        return step_id
    name = f"{step_id}~{tries}"
    while name in step_ids:
        name += "~"
    return name


def result_from_response(response: Response) -> StepResult:
    """Convert a response; a turn that was stopped (loop, iterations, budget) counts as failed."""
    match response.finish_reason:
        case "stop" | "length":
            return StepResult("completed", response.full_text)
        case "suspended":
            return StepResult("suspended", response.text)
        case "rejected":
            return StepResult("refused", truncate(response.text, MAX_REASON_CHARACTERS))
        case reason:
            return StepResult("failed", truncate(f"it ended with {reason}: {response.text}", MAX_REASON_CHARACTERS))


async def _run_turn(pipeline: TurnRunner, turn: Context) -> StepResult:
    try:
        return result_from_response(await pipeline.run(turn))
    except (BudgetExceeded, ChainError):
        raise
    except SophonError as error:
        return StepResult("failed", truncate(str(error), MAX_REASON_CHARACTERS))


def _open_turn(ctx: Context, work: PlanState, step: PlanStep) -> Context:
    stopped = work.active_turns.get(step.id)
    if stopped is not None:
        return stopped
    saved = work.saved_turns.pop(step.id, None)
    return _new_turn(ctx, work, step) if saved is None else ctx.restore_child(saved)


def _new_turn(ctx: Context, work: PlanState, step: PlanStep) -> Context:
    progress = work.progress
    step_state, results = progress[step.id], progress.dependency_results(step)
    taken = [other.id for other in progress.plan.steps]
    child_step = Step(
        step_run_name(step.id, step_state.tries, taken),
        step.tool_hints,
        step.model_hint,
        step.estimated_risk if work.approval_status == "given" else None,
        ctx.stopwatch.seconds if ctx.step is None or ctx.step.started_at is None else ctx.step.started_at,
    )
    prompt = step_prompt(step, results, step_state.reason or None, limit=result_character_limit(ctx, len(results)))
    child = ctx.child(step.description, child_step, prompt=prompt)
    sent = next((each for each in reversed(ctx.messages) if each.role == "user" and not each.origin), None)
    if sent is not None and (sent.images or sent.attachments):
        child.messages[-1] = replace(child.messages[-1], images=sent.images, attachments=sent.attachments)
    return child
