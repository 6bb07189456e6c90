"""Operations on trajectories, what is kept of finished turns. Users see their own, operators all."""

from typing import Annotated, Literal

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon.learning.trajectories import GOOD_FROM, MAX_KEPT, POOR_BELOW, Trajectory
from sophon.models.model import metering
from sophon.security.authorization.permission_levels import FULL_HISTORY
from sophon.stores.trajectories.similarity import find_similar
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.learning.results import TrajectoryList, TrajectoryView, trajectory_to_json
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.permission_check import check_permission
from sophon_hosting.operations.request import Doc, Everything, Limit, Request
from sophon_hosting.operations.table import Table
from sophon_middlewares.outer.budget.embedding_meter import EmbeddingMeter

table = Table("learning")

TRAJECTORY: Subject[Trajectory] = Subject(
    "trajectory", "task_id", lambda caller, row: caller.store.trajectories.find(row), lambda found: found.principal
)


class ListTrajectories(Request):
    """Trajectories by time or quality, or with similar requests."""

    order: Annotated[
        Literal["newest", "best", "poorest"], Doc("Those of `best` are good, those of `poorest` are poor.")
    ] = "newest"
    like: Annotated[
        str | None, ValueRules(max_length=8000), Doc("Those with the most similar requests, whatever their order.")
    ] = None
    limit: Limit = 100
    everything: Everything = False


class NamedTrajectory(Request):
    """The trajectory of a task."""

    task_id: str


@table.operation("GET /api/trajectories", needs="Read")
async def list_trajectories(caller: Caller, request: ListTrajectories) -> TrajectoryList:
    """List trajectories, the newest first.

    `everything` with `like` needs the permission FullHistory, too.
    """
    principal = caller.owner_filter(request.everything)
    if request.like is not None:
        if request.everything:
            check_permission(caller, FULL_HISTORY)  # the order tells what the hidden texts are like
        return await _list_similar(caller, request.like, request.limit, principal)
    found = await caller.store.trajectories.list(
        order=request.order,
        limit=request.limit,
        principal=principal,
        at_least=GOOD_FROM if request.order == "best" else None,
        below=POOR_BELOW if request.order == "poorest" else None,
    )
    return {"items": [_show(caller, each) for each in found]}


@table.operation("GET /api/trajectories/{task_id}", needs="Read", on=TRAJECTORY)
async def get_trajectory(caller: Caller, request: NamedTrajectory, trajectory: Trajectory) -> TrajectoryView:
    """Return the trajectory of a task."""
    return _show(caller, trajectory)


async def _list_similar(caller: Caller, text: str, limit: int, principal: str | None) -> TrajectoryList:
    store, embedder = caller.store, caller.host.services.learning.embedder
    if embedder is None:
        raise InputError("this host has no embedder")
    with metering(EmbeddingMeter(store.usage, caller.settings.budget, caller.clock)):
        similar = await find_similar(
            store.trajectories, store.vectors, embedder, text, limit=limit, most=MAX_KEPT, principal=principal
        )
    return {"items": [{**_show(caller, each.trajectory), "similarity": round(each.similarity, 4)} for each in similar]}


def _show(caller: Caller, trajectory: Trajectory) -> TrajectoryView:
    if caller.view is not None:
        trajectory = caller.view.trajectory(trajectory, is_own=trajectory.principal == caller.user.id)
    return {**trajectory_to_json(trajectory), "session_id": caller.sessions.to_client_id(trajectory.session_id)}
