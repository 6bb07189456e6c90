"""Built-in tools `goals.*`: a person's goals, which a host works on later; to make one asks that person."""

import hashlib
import re
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Literal

from sophon._python.lazy_pattern import lazy_pattern
from sophon.context import Context
from sophon.errors import BudgetExceeded, IllegalTransition, InputError, NotFound, ToolError
from sophon.goal_autonomy import GOAL_AUTONOMY
from sophon.risk import Risk
from sophon.security.information_flow.named_values import PersonTexts
from sophon.tools.tool import Tool, tool
from sophon.turn.provenance import has_read_untrusted, is_of_program, list_person_texts
from sophon_hosting.events.event_committer import EmittingCommitter, EventCommitter
from sophon_hosting.features.goals.person_actions import GoalCommands, budget_from_settings
from sophon_hosting.features.goals.rules.budget import GoalSpending, list_budget
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.task_graph import count_statuses
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.contract import host_store

GROUP: Final = "goals"
MAX_LISTED: Final = 20
_GOAL = lazy_pattern(r"\b(?:goals?|objetivos?|metas?|in the background|en segundo plano)\b", re.IGNORECASE)
"""What makes a wish a goal in the words of the person."""


def note_budget(ctx: Context, arguments: Mapping[str, Any]) -> str:
    """Return what the person who is asked must know: what the goal may do alone, and what it may use."""
    settings = ctx.services.settings.section(GoalsSettings)
    mode = str(arguments.get("autonomy") or settings.autonomy).capitalize()
    asks = {"Assist": "every call asks you", "Full": "only Critical calls ask you, High ones run"}
    uses = list_budget(budget_from_settings(settings), GoalSpending())
    shown = ", ".join(f"{each.limit} {each.dimension}" for each in uses)
    return (
        f"The host works on this by itself, in up to 8 planned steps at a time. {mode}: "
        f"{asks.get(mode, 'calls from High risk on ask you')}. It may use at most: {shown}."
    )


def _find_risk(ctx: Context, arguments: Mapping[str, Any]) -> Risk:
    """Return Medium for a goal that the person who writes calls one, in their words; High for what a rule or a model
    takes for one, for groups, for autonomy `full`, and after texts of others.
    """
    newest = next((each for each in reversed(ctx.root.messages) if each.role == "user"), None)
    if newest is None or newest.origin or ctx.group or is_of_program(ctx) or has_read_untrusted(ctx):
        return Risk.HIGH
    calls_it_goal = _GOAL.search(newest.content) is not None
    is_said = PersonTexts(list_person_texts(ctx)).name_words(str(arguments.get("description", "")))
    mode = str(arguments.get("autonomy") or ctx.services.settings.section(GoalsSettings).autonomy)
    return Risk.MEDIUM if calls_it_goal and is_said and mode.lower() != "full" else Risk.HIGH


@tool(
    name="goals.create",
    deferred=True,
    lasting=True,
    find_risk=_find_risk,
    risk=Risk.HIGH,
    serial=True,
    group=GROUP,
    tags=("goal", "goals", "objective", "project"),
    approval_note=note_budget,
)
async def goals_create(
    ctx: Context, title: str, description: str, autonomy: Literal["assist", "semi", "full"] | None = None
) -> dict[str, object]:
    """Make a goal that the host plans and works on in the background, for hours or days, and reports on in this chat.

    Args:
        title: A few words.
        description: What is to be reached, with everything that is needed to plan it.
        autonomy: assist asks about every call, semi from high risk on, full about critical calls only.
    """
    _check_may_act(ctx)
    call_id = next((call.id for call in ctx.pending if call.name == "goals.create"), "")
    run = await host_store(ctx.services).runs.find(ctx.run_id.partition("/")[0])
    goal = await _run(
        _commands(ctx).create(
            owner=ctx.principal,
            title=title,
            description=description,
            autonomy=autonomy,
            priority="user",
            goal_id=build_goal_id(ctx.run_id, call_id),
            session_id=ctx.session_id,
            channel=ctx.channel,
            origin=dict(run.origin) if run is not None else {},
        )
    )
    return {"goal": goal.id, "state": goal.state, "title": goal.title}


@tool(
    name="goals.list", deferred=True, risk=Risk.NONE, idempotent=True, polls=True, group=GROUP, tags=("goal", "goals")
)
async def goals_list(ctx: Context) -> list[dict[str, object]]:
    """List the goals of this user, newest first."""
    found = await stored_goals(host_store(ctx.services)).list(owner=ctx.principal, limit=MAX_LISTED * 2)
    return [_summarize(goal) for goal in found if goal.state != "archived"][:MAX_LISTED]


@tool(
    name="goals.show", deferred=True, risk=Risk.NONE, idempotent=True, polls=True, group=GROUP, tags=("goal", "goals")
)
async def goals_show(ctx: Context, goal: str) -> dict[str, object]:
    """Show a goal of this user: its steps and what it has used.

    Args:
        goal: Id of the goal.
    """
    found = await _run(_commands(ctx).find(goal, ctx.principal))
    steps = [{"id": node.id, "does": node.description, "status": node.status} for node in found.nodes]
    return {**_summarize(found), "steps": steps, "used": [str(each) for each in list_budget(found.limits, found.spent)]}


@tool(name="goals.pause", deferred=True, lasting=True, risk=Risk.LOW, serial=True, group=GROUP, tags=("goal", "pause"))
async def goals_pause(ctx: Context, goal: str) -> dict[str, object]:
    """Pause a goal of this user; it stays paused until it is resumed.

    Args:
        goal: Id of the goal.
    """
    _check_may_act(ctx)
    return _summarize(await _run(_commands(ctx).pause(goal, ctx.principal, by=ctx.principal)))


@tool(
    name="goals.resume", deferred=True, lasting=True, risk=Risk.HIGH, serial=True, group=GROUP, tags=("goal", "resume")
)
async def goals_resume(ctx: Context, goal: str) -> dict[str, object]:
    """Resume a paused goal of this user; what it had used up it may use once more.

    Args:
        goal: Id of the goal.
    """
    _check_may_act(ctx)
    return _summarize(await _run(_commands(ctx).resume(goal, ctx.principal, by=ctx.principal)))


@tool(
    name="goals.cancel",
    deferred=True,
    lasting=True,
    risk=Risk.MEDIUM,
    serial=True,
    group=GROUP,
    tags=("goal", "cancel"),
)
async def goals_cancel(ctx: Context, goal: str) -> dict[str, object]:
    """Cancel a goal of this user for good.

    Args:
        goal: Id of the goal.
    """
    _check_may_act(ctx)
    return _summarize(await _run(_commands(ctx).cancel(goal, ctx.principal, by=ctx.principal)))


def goal_tools() -> list[Tool]:
    """Return the tools of `Goals.Enabled`."""
    return [goals_create, goals_list, goals_show, goals_pause, goals_resume, goals_cancel]


def build_goal_id(run_id: str, call_id: str) -> str:
    """Return the id of the goal that a call makes: a turn that is resumed makes the same goal."""
    return hashlib.sha256(f"{run_id}\n{call_id}".encode()).hexdigest()[:20]


def _commands(ctx: Context) -> GoalCommands:
    services = ctx.services
    sink = services.events
    events = sink if isinstance(sink, EventCommitter) else EmittingCommitter(ctx.emit)
    return GoalCommands(host_store(services), services.clock, services.settings.section(GoalsSettings), events)


async def _run(change: Awaitable[Goal]) -> Goal:
    try:
        return await change
    except (InputError, NotFound, IllegalTransition, BudgetExceeded) as error:
        raise ToolError(str(error)) from None


def _check_may_act(ctx: Context) -> None:
    """Raise ToolError where a goal would make goals without end, or leave a trace of what leaves none."""
    if ctx.root.get(GOAL_AUTONOMY) is not None:
        raise ToolError("a step of a goal cannot make or change goals")
    if not ctx.services.learning.is_enabled:
        raise ToolError("off the record nothing is kept, and so no goal")


def _summarize(goal: Goal) -> dict[str, object]:
    return {
        "goal": goal.id,
        "title": goal.title,
        "state": goal.state,
        "reason": goal.reason,
        "progress": goal.progress,
        "steps": count_statuses(goal.nodes),
    }
