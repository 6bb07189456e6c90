"""Learning: keeps the trajectory of a finished turn, and the route of one that was answered well."""

import logging

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.stage_events import emit_stage
from sophon.errors import SophonError
from sophon.failure_log import log_failure
from sophon.learning.contract import Vector
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.trajectories import Trajectory
from sophon.routing.turn_keys import SCORE
from sophon.stores.trajectories.contract import TrajectoryWrite
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.policies import to_vector_row
from sophon_middlewares.inner.loop_end import LOOP_END
from sophon_middlewares.learners.finished_turn import (
    IS_JUDGED,
    build_model_note,
    build_trajectory,
    has_answer,
    is_learning,
)
from sophon_middlewares.learners.scoring import score_answer

log = logging.getLogger("sophon")


class Learning:
    """Keeps the trajectory of each scored turn, and for routing the tier of one whose quality is at least GoodFrom.

    On a host both are stored with the outcome of the turn. Of a plan step, a turn off the record and one without an
    answer nothing is kept. What cannot be kept is logged; the turn goes on. No embedding is asked for: a route is kept
    if routing has embedded the message, or the embedder needs no model. Behind ToolExecution it runs for each model
    call, and keeps the turn after the one that answers, or when the loop detector ends it. Source: reference/clawft.md
    3.7.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
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
    """Keep the trajectory of a scored turn, and what its route teaches."""
    score = ctx.get(SCORE)
    if score is None or ctx.response is None or not has_answer(ctx.response):
        emit_stage(ctx, "learner", kept=False)
        return
    trajectory = build_trajectory(ctx, ctx.response, score)
    emit_stage(ctx, "learner", kept=True, quality=round(trajectory.quality, 4))
    try:
        keep = ctx.settings.learning.max_trajectories
        await ctx.services.store.trajectories.add([TrajectoryWrite(trajectory, keep)])
        if trajectory.tier:
            await learn_route(ctx, trajectory)
    except SophonError as error:
        log_failure(log, error, "what run %s could teach was not kept", ctx.run_id)


async def learn_route(ctx: Context, trajectory: Trajectory) -> None:
    """Keep the tier and model of a turn that was answered well; forget those of similar messages after a poor answer.

    Raises StoreError.
    """
    policies, embedder, settings = ctx.services.policies, ctx.services.embedder, ctx.settings.learning
    vector = find_vector(embedder, ctx.text)
    if policies is None or embedder is None or vector is None:
        return
    if trajectory.quality < settings.poor_below:
        gone = await policies.reject(vector, trajectory.tier)
        if gone:
            await ctx.services.store.vectors.delete(POLICIES, gone)
    elif trajectory.quality >= settings.good_from:
        await policies.record(
            vector,
            trajectory.tier,
            trajectory.model,
            trajectory.quality,
            session_id=trajectory.session_id,
            run_id=trajectory.run_id,
        )
        await ctx.services.store.vectors.put([to_vector_row(each, embedder.name) for each in policies.take_pending()])


def find_vector(embedder: object, text: str) -> Vector | None:
    """Return the vector of a text if it is at hand; None if a model would have to be asked."""
    return embedder.find(text) if isinstance(embedder, CachingEmbedder) else None
