"""Planning: breaks a multi-step request into a plan, runs it, and answers from the results."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import PlanProposed
from sophon.extensions import Key
from sophon.plans import PlanProgress
from sophon.security.redaction.value_redaction import redact_values
from sophon_middlewares.inner.llm_invoker.reply import restore_final_response
from sophon_middlewares.outer.planning.plan_approval import approve_plan
from sophon_middlewares.outer.planning.plan_creation import create_plan
from sophon_middlewares.outer.planning.plan_execution import run_steps
from sophon_middlewares.outer.planning.plan_state import PLAN_STATE, PlanState
from sophon_middlewares.outer.planning.synthesis import synthesise_response

NO_PLAN: Key[bool] = Key("planning.flat", dump=bool, load=bool)
"""Set when the turn needs no plan; a resumed turn does not decide again."""


class Planning:
    """Decides whether to plan, creates a plan, requests approval if needed, runs the steps, and synthesises the answer.

    `Planning.Mode`, or the sender's: Auto (score of 3 and above), LlmDecides (the model votes; if it fails or is
    unclear, the score decides), Always, Never. A turn that is a step `Planning.MaxDepth` (3) levels down is never
    planned. An invalid plan is requested once more, then the turn goes on without one, as it does with a plan of a
    single step.

    A plan with a step at Medium risk or above needs approval. Steps run as soon as their dependencies are completed,
    `Planning.Concurrency` (4) at once, each as a child turn through the whole chain, twice at most. A failed step skips
    its dependants; the others finish. A turn with a plan does not call next. Entered again, it continues the plan:
    completed steps are not run again. Source: Sophon's guide, planning. Raises BudgetExceeded, and ModelError of the
    final call.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "PromptToolBridge")
    before = ("AgenticLoop", "ParallelExecution", "Approval", "ToolExecution", "LlmInvoker")
    acts = {
        "turn": "makes a plan of a request in several steps, shows it where it is risky, runs each step as a turn of "
        "its own through the whole chain, and sums up; passes other requests on unchanged"
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        work = await _load_or_create(ctx)
        if work is None:
            await next(ctx)
        elif restore_final_response(ctx):
            return
        elif await approve_plan(ctx, work) and await run_steps(ctx, work):
            await synthesise_response(ctx, work.progress)


async def _load_or_create(ctx: Context) -> PlanState | None:
    """Return the turn's plan state, or create it; None without a plan. Decided once per turn."""
    work = ctx.get(PLAN_STATE)
    if work is not None or ctx.get(NO_PLAN):
        return work
    plan = await create_plan(ctx)
    if plan is None:
        ctx.put(NO_PLAN, True)
        return None
    work = PlanState(PlanProgress(plan))
    ctx.put(PLAN_STATE, work)
    shown = plan.to_json()
    ctx.emit(PlanProposed(plan=shown if ctx.redactor is None else redact_values(shown)))
    return work
