"""Learning: keeps the trajectory of a finished turn, and what its route teaches if the answer was judged."""

import logging

from sophon.chain.pipeline import Next
from sophon.context import Context, TurnServices
from sophon.errors import SophonError
from sophon.failure_log import log_failure
from sophon.learning.contract import Vector
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.trajectories import GOOD_FROM, MAX_KEPT, POOR_BELOW, Trajectory
from sophon.stores.route_averages.route_average import RouteObservation
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.stored_policies import to_vector_row
from sophon.turn.stage_events import emit_stage
from sophon_middlewares.inner.agentic_loop.loop_end import LOOP_END
from sophon_middlewares.learning.scored_turn_and_trajectory import (
    IS_JUDGED,
    build_model_note,
    build_trajectory,
    has_answer,
    is_learning,
)
from sophon_middlewares.learning.scoring import score_answer

log = logging.getLogger("sophon")


class Learning:
    """Keeps the trajectory of each turn with an answer, and for routing what a judge says of the tier.

    On a host both are stored with the outcome of the turn. Of a plan step, a turn off the record and one without an
    answer nothing is kept. What cannot be kept is logged; the turn goes on. No embedding is asked for: a route is kept
    if routing has embedded the message, or the embedder needs no model. Behind ToolExecution it runs for each model
    call, and keeps the turn after the one that answers, or when the loop detector ends it. Source: clawft, learners.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
    follows = ("Trace", "SessionEvents")
    placed_with = ("SessionEvents",)  # without it a turn stores nothing
    before = ("Scoring", "Classification", "CapabilityRouting", "ContextWindow", "ToolFilter", "Planning", "LlmInvoker")
    repeats_after = ("ToolExecution",)
    requires = ("Scoring",)
    acts = {"turn": "learner: keeps what was asked, how it was routed and how well it was answered, on the way out"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not is_learning(ctx):
            await next(ctx)
            return
        ctx.put(LOOP_END, judge_ended_loop)
        with ctx.call_layer(build_model_note(ctx)):
            await next(ctx)
        if not ctx.get(IS_JUDGED):
            await keep_turn(ctx)


async def judge_ended_loop(ctx: Context) -> None:
    """Score and keep a turn that the loop detector has ended: it is a poor example, and no model call follows."""
    await score_answer(ctx)
    await keep_turn(ctx)
    ctx.put(IS_JUDGED, True)


async def keep_turn(ctx: Context) -> None:
    """Keep the trajectory of a turn with an answer, and what its route teaches if the answer was judged."""
    if ctx.response is None or not has_answer(ctx.response):
        emit_stage(ctx, "learner", kept=False)
        return
    trajectory = build_trajectory(ctx, ctx.response)
    quality = trajectory.quality
    emit_stage(ctx, "learner", kept=True, quality=None if quality is None else round(quality, 4))
    services = ctx.services
    try:
        await services.store.trajectories.add([TrajectoryWrite(trajectory, MAX_KEPT)])
        if quality is None:
            return
        if trajectory.judge == "scorer":  # of form only faults are known: their mean would be no quality
            await observe_quality(services, trajectory, quality=quality)
        vector = find_vector(services.learning.embedder, ctx.text)
        if vector is not None:
            await learn_route(services, trajectory, vector)
    except SophonError as error:
        log_failure(log, error, "what run %s could teach was not kept", ctx.run_id)


def find_vector(embedder: object, text: str) -> Vector | None:
    """Return the vector of a text if it is at hand; None if a model would have to be asked."""
    return embedder.find(text) if isinstance(embedder, CachingEmbedder) else None


async def observe_quality(
    services: TurnServices, trajectory: Trajectory, *, quality: float | None = None, said: float | None = None
) -> None:
    """Move the averages of the model that answered: the quality by a judge, or what people said, both 0 to 1.

    Raises StoreError.
    """
    observation = RouteObservation(
        *(trajectory.model, trajectory.tier, trajectory.task_type, services.clock.now()),
        quality=quality,
        said=said,
    )
    if not services.settings.routing.is_default:
        services.learning.router.observe([observation])  # other processes read it from the store
    await services.store.route_averages.add([observation])


async def learn_route(services: TurnServices, trajectory: Trajectory, vector: Vector) -> None:
    """Keep the tier as good for similar messages from `GOOD_FROM` on, and as poor below `POOR_BELOW`; else forget it.

    Raises StoreError.
    """
    policies, embedder, quality = services.learning.policies, services.learning.embedder, trajectory.quality
    if policies is None or embedder is None or not trajectory.tier:
        return
    await policies.warm_up()
    vectors = services.store.vectors
    if quality is None or POOR_BELOW <= quality < GOOD_FROM:
        await vectors.delete(POLICIES, policies.forget(run_id=trajectory.run_id))
        return
    await policies.record(
        *(vector, trajectory.tier, trajectory.model, quality),
        session_id=trajectory.session_id,
        run_id=trajectory.run_id,
        is_poor=quality < POOR_BELOW,
    )
    await vectors.put([to_vector_row(each, embedder.name) for each in policies.take_pending()])
