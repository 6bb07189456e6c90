"""URL outcomes: lists what became of each address, where a turn called several."""

from collections.abc import Mapping
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.decisions.url_outcome_list import add_url_outcomes, collect_url_outcomes
from sophon.turn.stage_events import emit_stage
from sophon_middlewares.replies.turn_actions import has_answer, list_actions, note_step_actions, replace_text


class UrlOutcomes:
    """Ends the reply with the outcome of each address that the turn called, if there are two or more and one failed.

    A result that begins with "error:" is a failure, whatever its tool reports. Source: WASP, policy guards.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget", "ActionAnnouncer", "ResponseValidator")
    before = ("Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {"turn": "lists what became of each address, where the turn called several"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)
        if ctx.depth:
            note_step_actions(ctx)
        elif has_answer(ctx) and ctx.response is not None:
            outcomes = collect_url_outcomes(list_actions(ctx))
            failed = sum(each.outcome != "done" for each in outcomes.values())
            emit_stage(ctx, "url_outcomes", addresses=len(outcomes), failed=failed)
            replace_text(ctx, ctx.response, add_url_outcomes(ctx.response.text, outcomes))
