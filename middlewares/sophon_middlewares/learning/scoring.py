"""Scoring: scores the answer of a finished turn."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.learning.contract import Scorer
from sophon.learning.scorers import SCORERS, find_judge
from sophon.learning.trajectories import scores_to_json
from sophon.routing.context_keys import SCORE, SCORER
from sophon.turn.stage_events import emit_stage
from sophon_middlewares.learning.scored_turn_and_trajectory import IS_JUDGED, describe_turn, has_answer, is_learning


class Scoring:
    """Scores the answer on its way out and leaves the `Fitness` under `SCORE`.

    `scorer` is by default the one of Learning.Scorer. A plan step, a turn off the record and one without an answer get
    no score. Behind ToolExecution it runs for each model call; a reply that asks for tools is no answer.
    Source: clawft, scorers.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Learning")
    follows = ("Learning",)
    placed_with = ("SessionEvents",)
    before = ("Classification", "CapabilityRouting", "ContextWindow", "ToolFilter", "Planning", "LlmInvoker")
    repeats_after = ("ToolExecution",)
    acts = {"turn": "scorer: scores the answer on its way out"}

    def __init__(self, *, scorer: Scorer | None = None) -> None:
        self._scorer = scorer

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        learns = is_learning(ctx)
        if learns:
            ctx.put(SCORER, self._scorer or SCORERS[ctx.settings.learning.scorer]())
        await next(ctx)
        if learns and not ctx.get(IS_JUDGED):
            await score_answer(ctx)


async def score_answer(ctx: Context) -> None:
    """Score the answer, if there is one, with the scorer of the context."""
    scorer = ctx.get(SCORER)
    if scorer is None or ctx.response is None or not has_answer(ctx.response):
        emit_stage(ctx, "scorer")
        return
    score = scorer.score(describe_turn(ctx, ctx.response))
    judge = find_judge(scorer)
    if score is None:
        emit_stage(ctx, "scorer", judge=judge)
        return
    ctx.put(SCORE, score)
    emit_stage(ctx, "scorer", **scores_to_json(score), judge=judge)
