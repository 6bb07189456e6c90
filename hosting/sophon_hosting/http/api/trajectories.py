"""`/api/trajectories`: what is kept of finished turns; users see their own, operators all."""

from typing import Annotated, Literal

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError, NotFound
from sophon.learning.trajectories import GOOD_FROM, MAX_KEPT, POOR_BELOW, Trajectory
from sophon.models.turn_meter import metering
from sophon.security.permission_levels import FULL_HISTORY
from sophon.stores.trajectories.similarity import find_similar
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.features.learning.results import TrajectoryList, TrajectoryView, trajectory_to_json
from sophon_hosting.http.json_io import RequestQuery, get_host, get_reader, json_response, parse_query
from sophon_middlewares.outer.host_meter import HostMeter


class TrajectoryListQuery(RequestQuery):
    """Query of the list: `order` by time or quality; `like` asks for similar requests instead; `everything` (all
    users') is for operators.
    """

    order: Literal["newest", "best", "poorest"] = "newest"
    like: Annotated[str, ValueRules(max_length=8000)] | None = None
    limit: Annotated[int, ValueRules(ge=1, le=1000)] = 100
    everything: bool = False


routes = web.RouteTableDef()


@routes.get("/api/trajectories")
async def list_trajectories(request: web.Request) -> web.Response:
    """List trajectories; those of `best` are good and those of `poorest` are poor, by the settings."""
    query, authorized_host = parse_query(request, TrajectoryListQuery), get_reader(request)
    if query.everything:
        authorized_host.require_operator()
        if query.like is not None:
            authorized_host.rights.require(FULL_HISTORY)  # the order tells what the hidden texts are like
    principal = None if query.everything else authorized_host.user.id
    services = get_host(request).services
    if query.like is None:
        found = await services.store.trajectories.list(
            order=query.order,
            limit=query.limit,
            principal=principal,
            at_least=GOOD_FROM if query.order == "best" else None,
            below=POOR_BELOW if query.order == "poorest" else None,
        )
        listed: TrajectoryList = {"items": [_to_json(each, authorized_host) for each in found]}
        return json_response(listed)
    if services.embedder is None:
        raise InputError("this host has no embedder")
    with metering(HostMeter(services.store.usage, services.settings.budget, services.clock)):
        similar = await find_similar(
            services.store.trajectories,
            services.store.vectors,
            services.embedder,
            query.like,
            limit=query.limit,
            most=MAX_KEPT,
            principal=principal,
        )
    items: list[TrajectoryView] = [
        {**_to_json(each.trajectory, authorized_host), "similarity": round(each.similarity, 4)} for each in similar
    ]
    ranked: TrajectoryList = {"items": items}
    return json_response(ranked)


@routes.get("/api/trajectories/{task_id}")
async def get_trajectory(request: web.Request) -> web.Response:
    """Return the trajectory of a task. Raises NotFound."""
    authorized_host, task_id = get_reader(request), request.match_info["task_id"]
    found = await get_host(request).services.store.trajectories.find(task_id)
    if found is None or (found.principal != authorized_host.user.id and not authorized_host.user.operator):
        raise NotFound("trajectory", task_id)
    return json_response(_to_json(found, authorized_host))


def _to_json(trajectory: Trajectory, authorized_host: AuthorizedHost) -> TrajectoryView:
    if authorized_host.view is not None:
        is_own = trajectory.principal == authorized_host.user.id
        trajectory = authorized_host.view.trajectory(trajectory, is_own=is_own)
    return {
        **trajectory_to_json(trajectory),
        "session_id": authorized_host.sessions.to_client_id(trajectory.session_id),
    }
