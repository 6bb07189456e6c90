"""Operations on goals: list, show, create, pause, resume, cancel, delete. Users have their own, operators all."""

from functools import partial
from typing import Annotated, TypeVar

from sophon.errors import BudgetExceeded, Busy, IllegalTransition, InputError
from sophon.turn.history_redaction import redact_text_for_reader
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.off_the_record_errors import OffTheRecordLost, OtherMode
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.features.goals.deletion import GoalDeletion
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.results import (
    GoalDetails,
    GoalList,
    GoalView,
    RedactText,
    goal_details_to_json,
    goal_to_json,
)
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, Everything, Limit, Request
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table

table = Table("goals")

Shown = TypeVar("Shown", bound=GoalView)


GOAL: Subject[Goal] = Subject(
    "goal", "goal_id", lambda caller, row: stored_goals(caller.store).find(row), lambda goal: goal.owner
)


class ListGoals(Request):
    """A page of goals; `archived` includes archived ones."""

    limit: Limit = 100
    archived: Annotated[bool, Doc("Archived goals, too.")] = False
    everything: Everything = False


class NewGoal(Request):
    """A goal to work on; it reports to `session_id`, by default to a session of its own."""

    title: Annotated[str, Doc("A few words.")]
    description: Annotated[str, Doc("What is to be reached; by default the title.")] = ""
    autonomy: Annotated[
        str | None, Doc("assist asks about every call, semi from High risk on, full: Critical ones.")
    ] = None
    session_id: Annotated[str | None, Doc("Session to report to; by default one of its own.")] = None


class NamedGoal(Request):
    """A goal by its id."""

    goal_id: Annotated[str, Doc("The id of a goal; `sophon goals list` shows them.")]


@table.operation("GET /api/goals", needs="Read")
async def list_goals(caller: Caller, request: ListGoals) -> GoalList:
    """List goals, newest first, and whether the host works on any."""
    found = await stored_goals(caller.store).list(owner=caller.owner_filter(request.everything), limit=request.limit)
    items = [_show(caller, goal) for goal in found if request.archived or goal.state != "archived"]
    return {"items": items, "enabled": caller.settings.section(GoalsSettings).enabled}


@table.operation("GET /api/goals/{goal_id}", needs="Read", on=GOAL)
async def get_goal(caller: Caller, request: NamedGoal, goal: Goal) -> GoalDetails:
    """Return one goal with its graph and what it has used.

    `graph` has the status of each step, `spend` what is `used` of the `limit` of each dimension.
    """
    return _show_details(caller, goal)


@table.operation(
    "POST /api/goals",
    needs="Chat",
    status=201,
    ok=True,
    errors=(OtherMode, OffTheRecordLost, BudgetExceeded),
    example={"title": "Compare three hosting offers", "description": "For a small shop; prices per year."},
)
async def create_goal(caller: Caller, request: NewGoal) -> GoalDetails:
    """Create a goal of the user."""
    _check_engine(caller)
    owner, session_id = await caller.find_author(request.session_id), ""
    if request.session_id is not None:
        session_id = (await caller.open_own_session(request.session_id, owner)).id
    goal = await _commands(caller).create(
        owner=owner,
        title=request.title,
        description=request.description,
        autonomy=request.autonomy,
        priority="user",
        session_id=session_id,
        channel=HUB_CHANNEL if caller.is_signed_in else "cli",
    )
    return _show_details(caller, goal)


@table.operation("POST /api/goals/{goal_id}/pause", needs="Chat", on=GOAL, ok=True, errors=(IllegalTransition,))
async def pause_goal(caller: Caller, request: NamedGoal, goal: Goal) -> GoalDetails:
    """Pause a goal until it is resumed; its running steps are stopped."""
    return _show_details(caller, await _commands(caller).pause(goal.id, goal.owner, by=caller.user.id))


@table.operation("POST /api/goals/{goal_id}/resume", needs="Chat", on=GOAL, ok=True, errors=(IllegalTransition,))
async def resume_goal(caller: Caller, request: NamedGoal, goal: Goal) -> GoalDetails:
    """Resume a paused goal; what it had used up it may use once more."""
    _check_engine(caller)
    return _show_details(caller, await _commands(caller).resume(goal.id, goal.owner, by=caller.user.id))


@table.operation("POST /api/goals/{goal_id}/cancel", needs="Chat", on=GOAL, ok=True, errors=(IllegalTransition,))
async def cancel_goal(caller: Caller, request: NamedGoal, goal: Goal) -> GoalDetails:
    """Cancel a goal for good; its running steps are stopped."""
    return _show_details(caller, await _commands(caller).cancel(goal.id, goal.owner, by=caller.user.id))


@table.operation("DELETE /api/goals/{goal_id}", needs="Chat", on=GOAL, ok=True, errors=(Busy,))
async def delete_goal(caller: Caller, request: NamedGoal, goal: Goal) -> Done:
    """Cancel a goal, and delete it with the sessions that it works in.

    It is `busy` if a step does not stop within a second: try again.
    """
    await GoalDeletion(stored_goals(caller.store), caller.events, caller.clock).delete(goal, caller.delete_session)
    return {}


def _check_engine(caller: Caller) -> None:
    if not caller.settings.section(GoalsSettings).enabled:
        raise InputError("goals are switched off at this host: set Goals.Enabled to true and start it again")


def _commands(caller: Caller) -> GoalCommands:
    return GoalCommands(caller.store, caller.clock, caller.settings.section(GoalsSettings), caller.events)


def _show(caller: Caller, goal: Goal) -> GoalView:
    return _with_client_id(caller, goal_to_json(goal, _redaction(caller, goal)))


def _show_details(caller: Caller, goal: Goal) -> GoalDetails:
    return _with_client_id(caller, goal_details_to_json(goal, _redaction(caller, goal)))


def _redaction(caller: Caller, goal: Goal) -> RedactText | None:
    return None if caller.view is None else partial(redact_text_for_reader, is_own=goal.owner == caller.user.id)


def _with_client_id(caller: Caller, shown: Shown) -> Shown:
    shown["session_id"] = caller.sessions.to_client_id(shown["session_id"])
    return shown
