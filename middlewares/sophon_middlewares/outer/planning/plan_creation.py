"""Plan creation: asks a model for the plan of a turn and validates it."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sophon.context import Context
from sophon.errors import ModelError
from sophon.events import AgentStatus
from sophon.messages import Message
from sophon.plans import Plan, PlanStep, parse_plan, plan_prompt, reask_prompt
from sophon.plans.plan import PlanError
from sophon.tools.registry import ToolRegistry
from sophon.tools.truncation import truncate
from sophon.turn.permissions import filter_permitted
from sophon.turn.provenance import list_person_texts
from sophon_middlewares.outer.planning.plan_decision import can_plan, exceeds_window, needs_plan

log = logging.getLogger("sophon.planning")


RECENT_MESSAGES = 6
RECENT_CHARACTERS = 1000
"""Limits of the earlier conversation in a plan call; it resolves references such as "it"."""


async def create_plan(ctx: Context) -> Plan | None:
    """Return the plan of the turn, or None to go on without one. Raises BudgetExceeded."""
    if not can_plan(ctx) or not await needs_plan(ctx) or exceeds_window(ctx):
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
