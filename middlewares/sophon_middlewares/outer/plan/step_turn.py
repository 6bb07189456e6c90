"""Execution of one plan step: a child turn through the whole chain, with retries."""

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from sophon.context import Context, Step, TurnRunner
from sophon.errors import BudgetExceeded, ChainError, SophonError
from sophon.events import AgentStatus
from sophon.lazy_dataclass import dataclass
from sophon.messages import Response
from sophon.plans import PlanStep, step_prompt
from sophon.tools.truncation import truncate
from sophon_middlewares.outer.plan.plan_state import PlanState
from sophon_middlewares.outer.plan.result_limits import result_character_limit

MAX_REASON_CHARACTERS = 1000
"""Maximum characters kept of an error."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of a try, and of the step; `text` is the result, or the reason.

    `refused`: a person or a guard rejected it, so it is not retried.
    """

    status: Literal["completed", "failed", "refused", "suspended"]
    text: str


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
        if end.status != "failed" or state.progress[step.id].tries >= ctx.services.settings.planning.tries:
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
    )
    prompt = step_prompt(step, results, step_state.reason or None, limit=result_character_limit(ctx, len(results)))
    child = ctx.child(step.description, child_step, prompt=prompt)
    sent = next((each for each in reversed(ctx.messages) if each.role == "user" and not each.origin), None)
    if sent is not None and (sent.images or sent.attachments):
        child.messages[-1] = replace(child.messages[-1], images=sent.images, attachments=sent.attachments)
    return child
