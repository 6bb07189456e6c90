"""Execution of one plan step: a child turn through the whole chain, with retries."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from sophon.context import Context, Step, TurnRunner
from sophon.errors import BudgetExceeded, ChainError, SophonError
from sophon.events import AgentStatus
from sophon.messages import Response
from sophon.plans import PlanStep, step_prompt
from sophon.tools.truncation import truncate
from sophon_middlewares.outer.plan.room import room_for_each
from sophon_middlewares.outer.plan.work import PlanWork

LONGEST_REASON = 1000
"""Maximum characters kept of an error."""


@dataclass(frozen=True, slots=True)
class StepEnd:
    """Result of a try, and of the step; `text` is the result, or the reason.

    `refused`: a person or a guard rejected it, so it is not retried.
    """

    how: Literal["completed", "failed", "refused", "suspended"]
    text: str


async def carry_out(ctx: Context, work: PlanWork, step: PlanStep) -> StepEnd:
    """Run a step until it succeeds or its tries are used up; continue a suspended try.

    Raises what ends the whole turn: BudgetExceeded, ChainError, and anything that is no SophonError.
    """
    if ctx.pipeline is None:
        raise ChainError("plan steps need the turn's pipeline: run the turn through Pipeline.run")
    while True:
        turn = work.turns[step.id] = _open_turn(ctx, work, step)
        end = await _run_turn(ctx.pipeline, turn)
        if end.how == "suspended":
            return end
        del work.turns[step.id]
        if end.how != "failed" or work.progress[step.id].tries >= ctx.settings.planning.tries:
            return end
        work.progress.retry(step.id, end.text)
        ctx.emit(AgentStatus(status="retrying", detail=f"step {step.id}: {end.text}"))


def run_name(step_id: str, tries: int, taken: Collection[str]) -> str:
    """Return the step's part of the run id, unique per try, because the journal is keyed by run id."""
    if tries <= 1:
        return step_id
    name = f"{step_id}~{tries}"
    while name in taken:
        name += "~"
    return name


def end_of(response: Response) -> StepEnd:
    """Convert a response; a turn that was stopped (loop, iterations, budget) counts as failed."""
    match response.finish_reason:
        case "stop" | "length":
            return StepEnd("completed", response.text)
        case "suspended":
            return StepEnd("suspended", response.text)
        case "rejected":
            return StepEnd("refused", truncate(response.text, LONGEST_REASON))
        case reason:
            return StepEnd("failed", truncate(f"it ended with {reason}: {response.text}", LONGEST_REASON))


async def _run_turn(pipeline: TurnRunner, turn: Context) -> StepEnd:
    try:
        return end_of(await pipeline.run(turn))
    except (BudgetExceeded, ChainError):
        raise
    except SophonError as error:
        return StepEnd("failed", truncate(str(error), LONGEST_REASON))


def _open_turn(ctx: Context, work: PlanWork, step: PlanStep) -> Context:
    suspended = work.turns.get(step.id)
    saved = suspended.state() if suspended is not None else work.written.pop(step.id, None)
    return _new_turn(ctx, work, step) if saved is None else ctx.adopt(saved)


def _new_turn(ctx: Context, work: PlanWork, step: PlanStep) -> Context:
    progress = work.progress
    step_state, results = progress[step.id], progress.results_for(step)
    taken = [other.id for other in progress.plan.steps]
    child_step = Step(
        run_name(step.id, step_state.tries, taken),
        step.tool_hints,
        step.model_hint,
        step.estimated_risk if work.leave == "given" else None,
    )
    prompt = step_prompt(step, results, step_state.reason or None, limit=room_for_each(ctx, len(results)))
    return ctx.child(step.description, child_step, prompt=prompt)
