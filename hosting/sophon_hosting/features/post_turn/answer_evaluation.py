"""Evaluation of some answers by a model, after their turns: the scorer `Evaluator`."""

import logging

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import SophonError
from sophon.extensions import Key
from sophon.learning.answer_evaluation import (
    MAX_TOKENS,
    Evaluation,
    InvalidAnswerEvaluation,
    build_evaluation_texts,
    is_sampled,
    read_evaluation,
)
from sophon.learning.trajectories import MAX_TEXT_CHARACTERS, Trajectory
from sophon.local_day import LONGEST_DAY_SECONDS, find_start_of_day
from sophon.messages import Message, Response
from sophon.security.shield.evaluation_texts import create_canary
from sophon.security.sliding_windows import RateLimit
from sophon.settings import LearningSettings
from sophon_middlewares.tool_calls.rate_slots import take_slot

log = logging.getLogger("sophon")

SCOPE = "learning.evaluations"
"""Rate window of the evaluations of all users."""

EVALUATION: Key[Evaluation] = Key("learning.evaluation")
"""What the model said of the answer; nothing if it could not be asked or understood."""


class AnswerEvaluation:
    """Innermost middleware of the evaluation chain; the turn's text is the request, `reply` the answer.

    It asks `Learning.Evaluator.Model` while the evaluations of the day last, and leaves the scores under `EVALUATION`.
    """

    zone = "inner"
    acts = {"turn": "asks a model how good an answer is"}  # noqa: RUF012 - plain data, as in every middleware

    def __init__(self, reply: str) -> None:
        self._reply = reply

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the middleware signature
        settings, services = ctx.services.settings, ctx.services
        options, canary = settings.learning.evaluator, create_canary()
        since = find_start_of_day(services.clock.now(), settings.budget.time_zone)
        ctx.response = Response("")
        try:
            budget = RateLimit("evaluation_budget", SCOPE, options.daily_budget, LONGEST_DAY_SECONDS, since=since)
            if not await take_slot(ctx, budget):
                return
            system, user = build_evaluation_texts(ctx.text, self._reply, canary)
            messages = [Message("system", system), Message("user", user)]
            request = ctx.request(messages, purpose="evaluation", max_tokens=MAX_TOKENS, temperature=0.0)
            route = None if options.model is None else [services.gateway.find(options.model)]
            answer = await ctx.complete(request, route=route or services.gateway.candidates())
            ctx.put(EVALUATION, read_evaluation(answer.text, canary))
        except (SophonError, InvalidAnswerEvaluation) as error:
            log.info("the answer of run %s could not be evaluated: %s", ctx.run_id, error)


def wants_evaluation(trajectory: Trajectory, settings: LearningSettings) -> bool:
    """Return whether a model is to judge an answer: one of the sample, of whose form no fault is known.

    A text that was cut for being kept is not judged.
    """
    is_whole = max(len(trajectory.request), len(trajectory.reply)) < MAX_TEXT_CHARACTERS
    return (
        settings.scorer == "Evaluator"
        and not trajectory.judge
        and is_whole
        and is_sampled(trajectory.run_id, settings.evaluator.share)
    )
