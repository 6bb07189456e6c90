"""Planning: breaks a multi-step request into a plan, runs it, and answers from the results."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import ModelError
from sophon.events import AgentStatus, PlanProposed
from sophon.extensions import Key
from sophon.messages import Message
from sophon.models.capabilities import fast_first
from sophon.models.gateway.provider import Candidate
from sophon.plans import (
    Plan,
    PlanProgress,
    PlanStep,
    heuristic_score,
    parse_plan,
    parse_vote,
    plan_prompt,
    reask_prompt,
    vote_prompt,
)
from sophon.plans.plan import PlanError
from sophon.security.redaction.value_redaction import redact_values
from sophon.tools.registry import ToolRegistry
from sophon.tools.truncation import truncate
from sophon.turn.permissions import filter_permitted
from sophon.turn.provenance import list_person_texts
from sophon_middlewares.inner.llm_invoker.reply import restore_final_response
from sophon_middlewares.outer.planning.plan_approval import approve_plan
from sophon_middlewares.outer.planning.plan_execution import run_steps
from sophon_middlewares.outer.planning.plan_state import PLAN_STATE, PlanState
from sophon_middlewares.outer.planning.synthesis import synthesise_response

NO_PLAN: Key[bool] = Key("planning.flat", dump=bool, load=bool)
"""Set when the turn needs no plan; a resumed turn does not decide again."""

log = logging.getLogger("sophon.planning")

RECENT_MESSAGES = 6
RECENT_CHARACTERS = 1000
"""Limits of the earlier conversation in a plan call; it resolves references such as "it"."""

MUST_PLAN: Key[bool] = Key("planning.wanted", dump=bool, load=bool)
"""Set when rules found that the message is a goal: it is planned, unless the sender or the settings say `Never`."""

SESSION_PLANNING: Key[str] = Key("planning.session", dump=str, load=str)
"""Planning mode of the session, for messages whose sender chose none; it does not hold for the steps of a plan."""

AUTO_SCORE_THRESHOLD = 3
"""Complexity score from which mode Auto plans. Source: Sophon's guide, planning."""

VOTE_MAX_TOKENS = 3
"""`max_tokens` of a vote. Source: Sophon's guide, planning."""


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


def exceeds_window(ctx: Context) -> bool:
    """Return whether the request alone exceeds the window; ContextWindow reports that in the reply call."""
    window = ctx.request([], purpose="plan").model.context_window
    return (
        ctx.services.gateway.tokens.count_message(ctx.messages[-1])
        > window * ctx.services.settings.context_window.trigger
    )


async def needs_plan(ctx: Context) -> bool:
    """Return whether the turn gets a plan, by the planning mode of the message, the session or the settings."""
    chosen = ctx.planning or ctx.get(SESSION_PLANNING)
    match chosen or ctx.services.settings.planning.mode:
        case "Always":
            return True
        case "Never":
            return False
        case _ if chosen is None and ctx.get(MUST_PLAN):
            return True
        case "LlmDecides":
            return not exceeds_window(ctx) and await request_vote(ctx)
        case "Auto":
            return heuristic_score(ctx.text) >= AUTO_SCORE_THRESHOLD
        case _:
            return False


async def request_vote(ctx: Context) -> bool:
    """Return the model's vote; if the call fails or the answer is neither yes nor no, decide by the score."""
    question = [Message("user", vote_prompt(ctx.text))]
    request = ctx.request(question, purpose="vote", max_tokens=VOTE_MAX_TOKENS, temperature=0.0)
    vote = None
    try:
        vote = parse_vote((await ctx.complete(request, route=vote_route(ctx))).text)
    except ModelError as error:
        log.warning("the vote on a plan failed, the score decides: %s", error)
    return heuristic_score(ctx.text) >= AUTO_SCORE_THRESHOLD if vote is None else vote


def vote_route(ctx: Context) -> Sequence[Candidate]:
    """Return the candidates for a vote: a model with the capability `fast` first, then the turn's route.

    If the sender or the session chose a model, only models of its provider count: the text goes nowhere else for it.
    """
    route = ctx.route if ctx.route is not None else ctx.services.gateway.candidates()
    return [*fast_first(route[:1]), *route[1:]] if ctx.model is not None else fast_first(route)


async def create_plan(ctx: Context) -> Plan | None:
    """Return the plan of the turn, or None to go on without one. Raises BudgetExceeded."""
    can_plan = ctx.depth < ctx.services.settings.planning.max_depth and ctx.tools_allowed and not ctx.pending
    if not can_plan or not await needs_plan(ctx) or exceeds_window(ctx):
        return None
    ctx.emit(AgentStatus(status="planning"))
    try:
        plan = await _request_plan(ctx)
    except ModelError as error:
        log.warning("no plan was made, the turn goes on without: %s", error)
        return None
    return plan if plan is not None and len(plan.steps) > 1 else None


async def _request_plan(ctx: Context) -> Plan | None:
    """Ask for a plan, and once more if it is invalid; None if the second one is invalid too."""
    messages = _build_messages(ctx)
    for _ in range(2):
        answer = (await ctx.complete(ctx.request(list(messages), purpose="plan"))).text
        try:
            return _parse(ctx, answer)
        except PlanError as error:
            log.info("%s", error)
            messages += [Message("assistant", answer or "(nothing)"), Message("user", reask_prompt(error.problems))]
    return None


def _build_messages(ctx: Context) -> list[Message]:
    # All tools, not the turn's selection: each step selects its own.
    instructions = plan_prompt(
        filter_permitted(ctx, ctx.services.registry), ctx.services.settings.agent_execution.plan_max_steps
    )
    system = [message.content for message in ctx.messages if message.role == "system"]
    return [
        Message("system", "\n\n".join([*system, instructions])),
        *recent_conversation(ctx.messages[:-1]),
        ctx.messages[-1],
    ]


def recent_conversation(messages: Sequence[Message]) -> list[Message]:
    """Return the last user and assistant messages, beginning with a user message, long ones truncated."""
    spoken = [message for message in messages if message.role in ("user", "assistant") and message.content]
    spoken = spoken[-RECENT_MESSAGES:]
    while spoken and spoken[0].role != "user":
        del spoken[0]
    return [Message(message.role, truncate(message.content, RECENT_CHARACTERS)) for message in spoken]


def _parse(ctx: Context, answer: str) -> Plan:
    registry = ctx.services.registry
    plan = parse_plan(
        answer,
        plan_id=ctx.services.clock.new_id(),
        max_steps=ctx.services.settings.agent_execution.plan_max_steps,
        tools=[tool.name for tool in filter_permitted(ctx, registry)],
        asked_for="\n".join(list_person_texts(ctx)) if ctx.services.settings.tools.refuse_placeholders else None,
    )
    return replace(plan, steps=apply_tool_risks(plan.steps, registry))


def apply_tool_risks(steps: Iterable[PlanStep], registry: ToolRegistry) -> tuple[PlanStep, ...]:
    """Return the steps with at least the risk of the tools that they name: a model's estimate can only raise it."""
    return tuple(
        replace(
            step, estimated_risk=max([step.estimated_risk, *(registry.find(name).risk for name in step.tool_hints)])
        )
        for step in steps
    )
