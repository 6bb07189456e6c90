"""`/api/goals`: list, show, create, change and delete goals. Users have their own, operators all."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, TypeVar

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon.goals.commands import GoalCommands
from sophon.goals.goal import Goal
from sophon.history_redaction import redact_text_for_reader
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.features.goals.results import GoalList, GoalView, goal_details_to_json, goal_to_json
from sophon_hosting.http.json_io import (
    RequestBody,
    RequestQuery,
    get_authorized_host,
    get_host,
    get_reader,
    json_response,
    parse_body,
    parse_query,
)


class GoalListQuery(RequestQuery):
    """Query of the list; `archived` includes archived goals, `everything` (all users') is for operators."""

    limit: Annotated[int, ValueRules(ge=1, le=1000)] = 100
    archived: bool = False
    everything: bool = False


class GoalBody(RequestBody):
    """Body of a new goal; it reports to `session_id`, by default to a session of its own."""

    title: str
    description: str = ""
    autonomy: str | None = None
    session_id: str | None = None


Shown = TypeVar("Shown", bound=GoalView)

routes = web.RouteTableDef()


@routes.get("/api/goals")
async def list_goals(request: web.Request) -> web.Response:
    """List goals, newest first, and whether the host works on any."""
    query, authorized_host = parse_query(request, GoalListQuery), get_reader(request)
    owner = authorized_host.owner_filter(query.everything)
    services = get_host(request).services
    found = await services.store.goals.list(owner=owner, limit=query.limit)
    shown = [goal for goal in found if query.archived or goal.state != "archived"]
    items = [_to_json(goal, authorized_host, goal_to_json) for goal in shown]
    listed: GoalList = {"items": items, "enabled": services.settings.goals.enabled}
    return json_response(listed)


@routes.get("/api/goals/{goal_id}")
async def get_goal(request: web.Request) -> web.Response:
    """Return one goal with its graph and what it has used. Raises NotFound."""
    authorized_host = get_reader(request)
    goal = await _commands(request).find(request.match_info["goal_id"], _owner(authorized_host))
    return json_response(_to_json(goal, authorized_host, goal_details_to_json))


@routes.post("/api/goals")
async def create_goal(request: web.Request) -> web.Response:
    """Create a goal of the user, with 201.

    Raises InputError, OtherMode, OffTheRecordLost, BudgetExceeded for more goals than a user may have.
    """
    body, authorized_host = await parse_body(request, GoalBody), get_authorized_host(request)
    authorized_host.rights.require("Chat")
    commands = _commands(request, needs_engine=True)
    user = authorized_host.user.id
    # The stored id: the user's own name for a session may be that of another user's session in the store.
    named = body.session_id
    session = await authorized_host.find_or_create_stored(named) if named is not None else None
    goal = await commands.create(
        owner=user,
        title=body.title,
        description=body.description,
        autonomy=body.autonomy,
        priority="user",
        session_id="" if session is None else session.id,
        channel=HUB_CHANNEL,
    )
    return json_response({"ok": True, **_to_json(goal, authorized_host, goal_details_to_json)}, 201)


@routes.post("/api/goals/{goal_id}/pause")
async def pause_goal(request: web.Request) -> web.Response:
    """Pause a goal; its running steps are stopped. Raises NotFound, IllegalTransition."""
    return await _change(request, lambda commands: commands.pause)


@routes.post("/api/goals/{goal_id}/resume")
async def resume_goal(request: web.Request) -> web.Response:
    """Resume a paused goal; what it had used up it may use once more. Raises NotFound, IllegalTransition."""
    return await _change(request, lambda commands: commands.resume, needs_engine=True)


@routes.post("/api/goals/{goal_id}/cancel")
async def cancel_goal(request: web.Request) -> web.Response:
    """Cancel a goal; its running steps are stopped. Raises NotFound, IllegalTransition."""
    return await _change(request, lambda commands: commands.cancel)


@routes.delete("/api/goals/{goal_id}")
async def delete_goal(request: web.Request) -> web.Response:
    """Cancel a goal, and delete it with the sessions that it works in. Raises NotFound, Busy."""
    authorized_host = get_authorized_host(request)
    authorized_host.rights.require("Chat")
    goal = await _commands(request).find(request.match_info["goal_id"], _owner(authorized_host))
    await get_host(request).delete_goal(goal)
    return json_response({"ok": True})


async def _change(
    request: web.Request,
    choose: Callable[[GoalCommands], Callable[..., Awaitable[Goal]]],
    *,
    needs_engine: bool = False,
) -> web.Response:
    authorized_host = get_authorized_host(request)
    authorized_host.rights.require("Chat")
    change = choose(_commands(request, needs_engine=needs_engine))
    goal = await change(request.match_info["goal_id"], _owner(authorized_host), by=authorized_host.user.id)
    return json_response({"ok": True, **_to_json(goal, authorized_host, goal_details_to_json)})


def _commands(request: web.Request, *, needs_engine: bool = False) -> GoalCommands:
    host = get_host(request)
    services = host.services
    if needs_engine and not services.settings.goals.enabled:
        raise InputError("goals are switched off at this host: set Goals.Enabled to true and start it again")
    return GoalCommands(services.store, services.clock, services.settings.goals, host.event_bus)


def _owner(authorized_host: AuthorizedHost) -> str | None:
    """Return whose goals the client may name; None for an operator, who may name all."""
    return None if authorized_host.user.operator else authorized_host.user.id


def _to_json(goal: Goal, authorized_host: AuthorizedHost, render: Callable[..., Shown]) -> Shown:
    is_own = goal.owner == authorized_host.user.id
    redact = None if authorized_host.view is None else partial(redact_text_for_reader, is_own=is_own)
    shown = render(goal, redact)
    shown["session_id"] = authorized_host.sessions.to_client_id(shown["session_id"])
    return shown
