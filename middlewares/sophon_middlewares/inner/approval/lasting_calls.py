"""Calls with lasting effects: after untrusted text each of them needs a person's approval, in every mode and chain."""

from sophon.context import Context
from sophon.errors import StoreError
from sophon.events import GuardVerdict
from sophon.messages import ToolCall
from sophon.security.action_types import LASTING_EFFECT, explain_lasting_effect
from sophon.turn.provenance import UNKNOWN_SOURCE, collect_untrusted_sources
from sophon_middlewares.tool_calls.escalations import Escalation, escalate
from sophon_middlewares.tool_calls.fast_path_call import is_fast_path

GUARD = "Approval"


async def escalate_lasting_call(ctx: Context, call: ToolCall) -> None:
    """Escalate a call with a lasting effect if the session has read untrusted text, or if nobody knows.

    That people named its values is no reason not to ask: the name of a schedule that they made tells a page what to
    pause. Only a fast path is made of the words of the person alone.
    """
    if is_fast_path(ctx, call):
        return
    try:
        sources = await collect_untrusted_sources(ctx)
    except StoreError:
        sources = (UNKNOWN_SOURCE,)
    if not sources:
        return
    reason = explain_lasting_effect(sources)
    escalate(ctx, call, Escalation(GUARD, LASTING_EFFECT, reason))
    if ctx.has_listeners:
        ctx.emit(
            GuardVerdict(
                call_id=call.id, guard=GUARD, verdict="escalate", rule=LASTING_EFFECT, reason=reason, tool=call.name
            )
        )
