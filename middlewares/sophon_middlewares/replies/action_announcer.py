"""Action announcer: makes a reply say what ran, what failed, and nothing else of actions."""

from collections.abc import Mapping
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.decisions.action_claim_correction import announce
from sophon.decisions.family_patterns import GOAL_REPORT
from sophon.turn.stage_events import emit_stage
from sophon_middlewares.replies.turn_actions import (
    has_answer,
    list_actions,
    list_earlier_tools,
    note_step_actions,
    replace_text,
)


class ActionAnnouncer:
    """Removes claims of actions that did not run, adds failures that the reply hides, and ends it with the actions.

    Rules: `sophon.decisions.action_claim_correction`. The list has the actions with effects, and the failures that the
    reply hides. A reply that is not the model's answer, such as a refusal, stays as it is, and so does the report of a
    goal: it tells what other turns did. Source: WASP, policy guards.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget")
    before = ("ResponseValidator", "UrlOutcomes", "Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "removes claims of actions that did not run; adds hidden failures and the list of actions"
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)
        if ctx.depth:
            note_step_actions(ctx)
        elif has_answer(ctx) and ctx.response is not None and not _reports_goal(ctx):
            found = announce(ctx.response.text, list_actions(ctx), earlier=list_earlier_tools(ctx))
            emit_stage(ctx, "announcer", removed=len(found.removed), hidden=len(found.hidden))
            replace_text(ctx, ctx.response, found.text)


def _reports_goal(ctx: Context) -> bool:
    """Return whether the turn reports a goal; its results are material of others, which a person's message has not."""
    return ctx.text.startswith(GOAL_REPORT) and bool(ctx.tally.untrusted_sources)
