"""Carries out one step of a plan: a turn of its own through the whole chain, and another if that one fails."""

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
"""Characters of what is kept of an error."""


@dataclass(frozen=True, slots=True)
class StepEnd:
    """How a try, and then the step, ended; `text` is the result, or the reason.

    `refused`: a person or a guard said no, so another way to the same end is not looked for.
    """

    how: Literal["completed", "failed", "refused", "suspended"]
    text: str


async def carry_out(ctx: Context, work: PlanWork, step: PlanStep) -> StepEnd:
    """Try until it succeeds or no try is left; go on with a try that was suspended.

    Raises what ends the whole turn: BudgetExceeded, ChainError, and what is no SophonError.
    """
    if ctx.pipeline is None:
        raise ChainError("a plan's steps need the chain that the turn is in: send the turn through Pipeline.run")
    while True:
        turn = work.turns[step.id] = _turn(ctx, work, step)
        end = await _attempt(ctx.pipeline, turn)
        if end.how == "suspended":
            return end
        del work.turns[step.id]
        if end.how != "failed" or work.progress[step.id].tries >= ctx.settings.planning.tries:
            return end
        work.progress.retry(step.id, end.text)
        ctx.emit(AgentStatus(status="retrying", detail=f"step {step.id}: {end.text}"))


def run_name(step_id: str, tries: int, taken: Collection[str]) -> str:
    """The step's part of the run id, one for each try: the journal tells runs apart by it."""
    if tries <= 1:
        return step_id
    name = f"{step_id}~{tries}"
    while name in taken:
        name += "~"
    return name


def end_of(response: Response) -> StepEnd:
    """What a try came to. A turn that was stopped (loop, iterations, budget) has not done its work."""
    match response.finish_reason:
        case "stop" | "length":
            return StepEnd("completed", response.text)
        case "suspended":
            return StepEnd("suspended", response.text)
        case "rejected":
            return StepEnd("refused", truncate(response.text, LONGEST_REASON))
        case reason:
            return StepEnd("failed", truncate(f"it ended with {reason}: {response.text}", LONGEST_REASON))


async def _attempt(pipeline: TurnRunner, turn: Context) -> StepEnd:
    try:
        return end_of(await pipeline.run(turn))
    except (BudgetExceeded, ChainError):
        raise
    except SophonError as error:
        return StepEnd("failed", truncate(str(error), LONGEST_REASON))


def _turn(ctx: Context, work: PlanWork, step: PlanStep) -> Context:
    suspended = work.turns.get(step.id)
    state = suspended.state() if suspended is not None else work.written.pop(step.id, None)
    return _fresh(ctx, work, step) if state is None else ctx.adopt(state)


def _fresh(ctx: Context, work: PlanWork, step: PlanStep) -> Context:
    progress = work.progress
    so_far, results = progress[step.id], progress.results_for(step)
    taken = [other.id for other in progress.plan.steps]
    own = Step(
        run_name(step.id, so_far.tries, taken),
        step.tool_hints,
        step.model_hint,
        step.estimated_risk if work.leave == "given" else None,
    )
    prompt = step_prompt(step, results, so_far.reason or None, limit=room_for_each(ctx, len(results)))
    return ctx.child(step.description, own, prompt=prompt)
