"""Response validator: checks a reply by rules, and lets the model correct a fault once."""

from collections.abc import Awaitable, Mapping
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.decisions.reply_faults import Fault, find_fault
from sophon.extensions import Key
from sophon.messages import Message
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.turn.stage_events import emit_stage
from sophon_middlewares.inner.llm_invoker.reply import append_reply, withdraw_reply
from sophon_middlewares.outer.planning.plan_state import PLAN_STATE
from sophon_middlewares.replies.turn_actions import (
    has_answer,
    list_actions,
    list_results,
    note_step_actions,
    replace_text,
)

CORRECTED: Key[bool] = Key("replies.corrected", dump=bool, load=bool)
"""Set once the turn has had its corrective round."""

VALIDATION_FIELD = "validation"
"""Key, in the detail of the response, of the checks that the reply failed, in order."""


class ResponseValidator:
    """Asks the model once more if its reply has a fault that rules find.

    The fault and the faulty reply are in the request of the corrective round, and not in the conversation. If the
    second reply is empty or an error, the first one stays. At most one corrective round per turn, whatever the second
    reply is; one that fails a check, too, is noted in the response's `detail`. A turn with a plan, and one that a tool
    call alone has answered, are not asked again. Source: WASP, policy guards.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget", "ActionAnnouncer")
    before = ("UrlOutcomes", "Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {"turn": "checks the reply by rules; lets the model correct a fault, once"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)
        if ctx.depth:
            note_step_actions(ctx)
            return
        fault = _check(ctx)
        if fault is None:
            return
        failed = [fault.check]
        if not ctx.get(CORRECTED) and ctx.get(PLAN_STATE) is None:
            ctx.put(CORRECTED, True)
            await _correct(ctx, next, fault)
            again = _check(ctx)
            failed += [again.check] if again is not None else []
        if ctx.response is not None and ctx.response.finish_reason != "suspended":
            ctx.response = ctx.response.copy_with(detail={**ctx.response.detail, VALIDATION_FIELD: failed})


def _check(ctx: Context) -> Fault | None:
    response = ctx.response
    if response is None or not has_answer(ctx) or not ctx.tally.usage.total_tokens:
        return None
    fault = find_fault(ctx.text, response.text, list_actions(ctx), list_results(ctx))
    emit_stage(ctx, "validator", verdict=fault.check if fault is not None else "ok")
    return fault


async def _correct(ctx: Context, next: Next, fault: Fault) -> None:
    """Let the model answer once more; what it said first stays if the second reply is none."""
    first, response = withdraw_reply(ctx), ctx.response
    if first is None or response is None:
        return
    layer = CorrectionLayer(ctx, first, fault)
    with ctx.call_layer(layer, overhead=layer.added_text):
        await next(ctx)
    if ctx.response is None or ctx.response.finish_reason == "error":
        withdraw_reply(ctx)
        append_reply(ctx, first)
        ctx.response = response
        replace_text(ctx, response, response.text)


class CorrectionLayer:
    """Call layer that shows the model its first reply and what is wrong with it, behind the conversation so far."""

    __slots__ = ("_added", "_ctx", "_length")

    def __init__(self, ctx: Context, reply: Message, fault: Fault) -> None:
        note = f"[Your reply has a fault: {fault.reason}. Answer the message again, completely, without this note.]"
        self._ctx, self._length = ctx, len(ctx.messages)
        self._added = [Message("assistant", reply.content), Message("user", note, origin="hint")]

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        messages = list(request.messages)
        # What the corrective round adds comes behind the note; a window may have shortened what comes before.
        at = max(0, len(messages) - (len(self._ctx.messages) - self._length))
        messages[at:at] = self._added
        return call(request.copy_with(messages=messages))

    def added_text(self, request: ModelRequest) -> str:
        """Return what the layer adds to a request."""
        return "\n".join(each.content for each in self._added)
