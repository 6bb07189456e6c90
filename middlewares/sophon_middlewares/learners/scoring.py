"""Scoring: scores the answer of a finished turn by its form."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.learning.contract import Scorer
from sophon.learning.scorers import SCORERS
from sophon.routing.turn_keys import SCORE
from sophon_middlewares.learners.finished_turn import describe_turn, has_answer, is_learning


class Scoring:
    """Scores the answer on its way out and leaves the `Fitness` under `SCORE`.

    `scorer` is by default the one of Learning.Scorer. A plan step, a turn off the record and one without an answer get
    no score. Source: reference/clawft.md 3.6.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Learning")
    before = ("Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "Planning", "AgenticLoop")
    acts = {"turn": "scores the answer on its way out"}

    def __init__(self, *, scorer: Scorer | None = None) -> None:
        self._scorer = scorer

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)
        if ctx.response is not None and has_answer(ctx.response) and is_learning(ctx):
            scorer = self._scorer or SCORERS[ctx.settings.learning.scorer]()
            ctx.put(SCORE, scorer.score(describe_turn(ctx, ctx.response)))
