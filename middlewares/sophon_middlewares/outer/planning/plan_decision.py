"""Plan decision: whether a turn needs a plan, by the mode, the complexity score or a vote of the model."""

import logging
from collections.abc import Sequence

from sophon.context import Context
from sophon.errors import ModelError
from sophon.extensions import Key
from sophon.messages import Message
from sophon.models.capabilities import fast_first
from sophon.models.gateway.provider import Candidate
from sophon.plans import heuristic_score, parse_vote, vote_prompt

log = logging.getLogger("sophon.planning")

MUST_PLAN: Key[bool] = Key("planning.wanted", dump=bool, load=bool)
"""Set when rules found that the message is a goal: it is planned, unless the sender or the settings say `Never`."""

SESSION_PLANNING: Key[str] = Key("planning.session", dump=str, load=str)
"""Planning mode of the session, for messages whose sender chose none; it does not hold for the steps of a plan."""

AUTO_SCORE_THRESHOLD = 3
"""Complexity score from which mode Auto plans. Source: Sophon's guide, planning."""

VOTE_MAX_TOKENS = 3
"""`max_tokens` of a vote. Source: Sophon's guide, planning."""


def can_plan(ctx: Context) -> bool:
    """Return whether a plan is possible here: depth below the limit, tools allowed, no pending calls."""
    return ctx.depth < ctx.services.settings.planning.max_depth and ctx.tools_allowed and not ctx.pending


def exceeds_window(ctx: Context) -> bool:
    """Return whether the request alone exceeds the window; ContextWindow reports that in the reply call."""
    window = ctx.request([], purpose="plan").model.context_window
    return (
        ctx.services.gateway.tokens.count_message(ctx.messages[-1])
        > window * ctx.services.settings.context_window.trigger
    )


async def needs_plan(ctx: Context) -> bool:
    """Return whether the turn gets a plan, by the planning mode of the message, the session or the settings."""
    chosen = ctx.planning or ctx.get(SESSION_PLANNING)
    match chosen or ctx.services.settings.planning.mode:
        case "Always":
            return True
        case "Never":
            return False
        case _ if chosen is None and ctx.get(MUST_PLAN):
            return True
        case "LlmDecides":
            return not exceeds_window(ctx) and await request_vote(ctx)
        case "Auto":
            return heuristic_score(ctx.text) >= AUTO_SCORE_THRESHOLD
        case _:
            return False


async def request_vote(ctx: Context) -> bool:
    """Return the model's vote; if the call fails or the answer is neither yes nor no, decide by the score."""
    question = [Message("user", vote_prompt(ctx.text))]
    request = ctx.request(question, purpose="vote", max_tokens=VOTE_MAX_TOKENS, temperature=0.0)
    vote = None
    try:
        vote = parse_vote((await ctx.complete(request, route=vote_route(ctx))).text)
    except ModelError as error:
        log.warning("the vote on a plan failed, the score decides: %s", error)
    return heuristic_score(ctx.text) >= AUTO_SCORE_THRESHOLD if vote is None else vote


def vote_route(ctx: Context) -> Sequence[Candidate]:
    """Return the candidates for a vote: a model with the capability `fast` first, then the turn's route.

    If the sender or the session chose a model, only models of its provider count: the text goes nowhere else for it.
    """
    route = ctx.route if ctx.route is not None else ctx.services.gateway.candidates()
    return [*fast_first(route[:1]), *route[1:]] if ctx.model is not None else fast_first(route)
