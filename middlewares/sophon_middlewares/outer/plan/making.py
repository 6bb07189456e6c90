"""Decides whether a turn is worth a plan, and has a model make it."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sophon.context import Context
from sophon.errors import ModelError, PlanError
from sophon.events import AgentStatus
from sophon.messages import Message
from sophon.plans import Plan, PlanStep, heuristic_score, parse_plan, parse_vote, plan_prompt, reask_prompt, vote_prompt
from sophon.tools.registry import ToolRegistry
from sophon.tools.truncation import truncate

log = logging.getLogger("sophon.planning")

AUTO_FROM = 3
"""Points of the heuristic from which on mode Auto plans. Source: reference/sophon.md 5.13."""

VOTE_TOKENS = 3
"""Source: reference/sophon.md 5.13."""

RECENT_MESSAGES = 6
RECENT_CHARACTERS = 1000
"""What a plan call is shown of the conversation before the request, so that "it" and "the other one" mean something."""


async def plan_for(ctx: Context) -> Plan | None:
    """The plan that the turn is to follow; None if it goes on without one. Raises BudgetExceeded."""
    if not _plannable(ctx) or not await _wanted(ctx) or _overlong(ctx):
        return None
    ctx.emit(AgentStatus(status="planning"))
    try:
        plan = await _made(ctx)
    except ModelError as error:
        log.warning("no plan was made, the turn goes on without: %s", error)
        return None
    return plan if plan is not None and len(plan.steps) > 1 else None


def _plannable(ctx: Context) -> bool:
    return ctx.depth < ctx.settings.planning.max_depth and ctx.tools_allowed and not ctx.pending


def _overlong(ctx: Context) -> bool:
    """Whether the request is too large for the window as it is: whoever makes a request fit shall say so, not we."""
    window = ctx.request([], purpose="plan").model.context_window
    return ctx.services.gateway.tokens.message(ctx.messages[-1]) > window * ctx.settings.context_window.trigger


async def _wanted(ctx: Context) -> bool:
    match ctx.planning or ctx.settings.planning.mode:
        case "Always":
            return True
        case "LlmDecides":
            return not _overlong(ctx) and await _vote(ctx)
        case "Auto":
            return heuristic_score(ctx.text) >= AUTO_FROM
        case _:
            return False


async def _vote(ctx: Context) -> bool:
    """What the model says; if it fails, or says neither yes nor no, what the score says."""
    question = [Message("user", vote_prompt(ctx.text))]
    request = ctx.request(question, purpose="vote", max_tokens=VOTE_TOKENS, temperature=0.0)
    vote = None
    try:
        vote = parse_vote((await ctx.complete(request)).text)
    except ModelError as error:
        log.warning("the vote on a plan failed, the score decides: %s", error)
    return heuristic_score(ctx.text) >= AUTO_FROM if vote is None else vote


async def _made(ctx: Context) -> Plan | None:
    """Ask for a plan, once more if it cannot be run; None if that one cannot either."""
    messages = _question(ctx)
    for _ in range(2):
        answer = (await ctx.complete(ctx.request(list(messages), purpose="plan"))).text
        try:
            return _read(ctx, answer)
        except PlanError as error:
            log.info("%s", error)
            messages += [Message("assistant", answer or "(nothing)"), Message("user", reask_prompt(error.problems))]
    return None


def _question(ctx: Context) -> list[Message]:
    # All tools, not those that fit the whole message best: each step is offered its own choice.
    instructions = plan_prompt(ctx.services.registry, ctx.settings.agent_execution.plan_max_steps)
    system = [message.content for message in ctx.messages if message.role == "system"]
    return [Message("system", "\n\n".join([*system, instructions])), *recent(ctx.messages[:-1]), ctx.messages[-1]]


def recent(messages: Sequence[Message]) -> list[Message]:
    """The last few things that person and agent said to each other, beginning with the person, long ones cut."""
    said = [message for message in messages if message.role in ("user", "assistant") and message.content]
    said = said[-RECENT_MESSAGES:]
    while said and said[0].role != "user":
        del said[0]
    return [Message(message.role, truncate(message.content, RECENT_CHARACTERS)) for message in said]


def _read(ctx: Context, answer: str) -> Plan:
    registry = ctx.services.registry
    plan = parse_plan(
        answer,
        plan_id=ctx.services.clock.new_id(),
        max_steps=ctx.settings.agent_execution.plan_max_steps,
        tools=[tool.name for tool in registry],
    )
    return replace(plan, steps=with_known_risks(plan.steps, registry))


def with_known_risks(steps: Iterable[PlanStep], registry: ToolRegistry) -> tuple[PlanStep, ...]:
    """The steps, none of them declared as less than the tools that it names: a model's estimate only adds to that."""
    return tuple(
        replace(
            step, estimated_risk=max([step.estimated_risk, *(registry.find(name).risk for name in step.tool_hints)])
        )
        for step in steps
    )
