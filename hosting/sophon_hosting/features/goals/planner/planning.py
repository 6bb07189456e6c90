"""Planning of a goal: a model call for the plan, a second one that reviews it, at most three tries."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Next, Pipeline
from sophon.context import Context
from sophon.errors import BudgetExceeded, ModelError
from sophon.extensions import Key
from sophon.goal_autonomy import GOAL_AUTONOMY
from sophon.messages import Message, Response
from sophon.plans import reask_prompt
from sophon.plans.plan import PlanError
from sophon.services import Services
from sophon.tools.tool import Tool
from sophon.turn.permissions import filter_permitted
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.features.goals.planner.plan_parsing import parse_goal_plan, parse_review
from sophon_hosting.features.goals.planner.planner_prompts import (
    MAX_PLAN_TOKENS,
    MAX_REVIEW_TOKENS,
    build_plan_messages,
    build_review_messages,
)
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.task_node import TaskNode
from sophon_hosting.host_chain import place_model_hooks
from sophon_hosting.runs.data_owner_and_chat_overrides import audience_of_run
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.outer.budget.budget import Budget
from sophon_middlewares.outer.capability_routing.capability_routing import CapabilityRouting

log = logging.getLogger("sophon")

MAX_TRIES: Final = 3
"""Plans that are asked for before planning has failed. Source: WASP, goal engine."""

GOAL_GROUP: Final = "goals"


@dataclass(frozen=True, slots=True)
class PlanResult:
    """Result of planning: `nodes`, empty if it failed for `problem`.

    `tokens` is what models wrote, `all_tokens` also what they read, in `calls`. `is_refused`: a limit of the goal's
    owner was reached. `may_retry`: no model has answered.
    """

    nodes: tuple[TaskNode, ...]
    problem: str = ""
    tokens: int = 0
    all_tokens: int = 0
    calls: int = 0
    is_refused: bool = False
    may_retry: bool = False


_GOAL: Key[Goal] = Key("goals.planned_goal")
_RESULT: Key[PlanResult] = Key("goals.plan_result")


class GoalPlanning:
    """Innermost middleware of the planning chain: asks for a plan and has it reviewed, with purpose `plan`."""

    zone = "inner"
    acts: Mapping[str, str] = {"turn": "asks a model for the plan of a goal, and another time for its review"}

    def __init__(self, *, review: bool) -> None:
        self._review = review

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the middleware signature
        goal = ctx.get(_GOAL)
        assert goal is not None
        ctx.put(_RESULT, await plan_goal(ctx, goal, review=self._review))
        ctx.response = Response("planned")


class GoalPlanner:
    """Plans goals through the services of a host: with the limits, the routing and the permissions of their owners."""

    def __init__(self, services: Services, *, review: bool, pipelines: PipelineRegistry | None = None) -> None:
        self._services, self._pipelines = services, pipelines
        self._chain = Pipeline.compose(Budget(), CapabilityRouting(), GoalPlanning(review=review))

    async def plan(self, goal: Goal) -> PlanResult:
        """Return a plan, or why there is none. Raises StoreError."""
        audience = audience_of_run(Run("", "", owner=goal.owner, channel=goal.channel, origin=goal.origin))
        ctx = self._services.turn(
            f"Plan of the goal {goal.title}",
            session_id=goal.work_session_id,
            principal=goal.owner,
            group=audience.group,
            data_owner=audience.data_owner,
            channel=goal.channel,
        )
        ctx.put(_GOAL, goal)
        ctx.put(GOAL_AUTONOMY, goal.autonomy)
        try:
            chain = self._chain if self._pipelines is None else place_model_hooks(self._chain, self._pipelines)
            response = await chain.run(ctx)
        except (BudgetExceeded, ModelError) as error:
            is_refused = isinstance(error, BudgetExceeded)
            return self._count(ctx, PlanResult((), str(error), is_refused=is_refused, may_retry=not is_refused))
        result = ctx.get(_RESULT)
        if result is None:  # Budget has refused before any call
            return self._count(ctx, PlanResult((), response.text, is_refused=True))
        return self._count(ctx, result)

    def _count(self, ctx: Context, result: PlanResult) -> PlanResult:
        tally = ctx.tally
        usage = tally.usage
        return replace(result, tokens=usage.output_tokens, all_tokens=usage.total_tokens, calls=tally.model_calls)


async def plan_goal(ctx: Context, goal: Goal, *, review: bool) -> PlanResult:
    """Return the first plan that is valid and that the critic does not reject."""
    tools = {tool.name: tool for tool in filter_permitted(ctx, ctx.services.registry) if tool.group != GOAL_GROUP}
    locked = goal.stability.locked_tools
    offered = [tool for tool in tools.values() if tool.name not in locked]
    messages = build_plan_messages(goal, offered, [node for node in goal.nodes if node.status == "failed"])
    problem = ""
    for _ in range(MAX_TRIES):
        answer = (await ctx.complete(ctx.request(list(messages), purpose="plan", max_tokens=MAX_PLAN_TOKENS))).text
        try:
            nodes = parse_goal_plan(answer, tools=tools, locked_tools=locked, asked_for=_own_words(goal))
            nodes = await _review(ctx, goal, answer, nodes, tools, offered) if review else nodes
            return PlanResult(nodes)
        except PlanError as error:
            problem = str(error)
            log.info("goal %s: %s", goal.id, error)
            messages += [Message("assistant", answer or "(nothing)"), Message("user", reask_prompt(error.problems))]
    return PlanResult((), f"no plan in {MAX_TRIES} tries: {problem}")


async def _review(
    ctx: Context,
    goal: Goal,
    plan: str,
    nodes: tuple[TaskNode, ...],
    tools: Mapping[str, Tool],
    offered: list[Tool],
) -> tuple[TaskNode, ...]:
    """Return the plan as the critic leaves it. Raises PlanError if it rejects the plan, or says nothing that counts."""
    messages = build_review_messages(goal, plan, offered)
    answer = (await ctx.complete(ctx.request(messages, purpose="plan", max_tokens=MAX_REVIEW_TOKENS))).text
    found = parse_review(answer, tools=tools, locked_tools=goal.stability.locked_tools, asked_for=_own_words(goal))
    if found.verdict == "rejected":
        raise PlanError([f"the review rejects it: {issue}" for issue in found.issues])
    return found.nodes if found.verdict == "corrected" else nodes


def _own_words(goal: Goal) -> str:
    return f"{goal.title}\n{goal.description}"
