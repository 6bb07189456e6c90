"""Request budget: limits the model calls of a turn by how much work its message is."""

from collections.abc import Awaitable, Mapping
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.decisions.work_classes import CALL_LIMITS, WorkClass, find_work_class
from sophon.errors import BudgetExceeded
from sophon.extensions import Key
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.turn.stage_events import emit_stage

_CALLS: Key[int] = Key("request_budget.calls", dump=int, load=int)
"""Replies that the turn and its plan steps have asked for."""


class RequestBudget:
    """Adds a call layer that counts replies, over the turn and its plan steps: 10 for a simple message, 20 for a normal
    and 36 for a complex one.

    The last one is asked for without tools, so that the turn ends with an answer. Raises BudgetExceeded for one more.
    Source: WASP, pipeline.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget")
    before = ("Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {"model call": "at most 10, 20 or 36 of them, by the tier of the message"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        tier = find_work_class(ctx.root.text)
        with ctx.call_layer(CallLimitLayer(ctx.root, tier)):
            await next(ctx)
        if not ctx.depth and ctx.response is not None and ctx.response.finish_reason != "suspended":
            emit_stage(ctx, "llm_loop", tier=tier, budget=CALL_LIMITS[tier], calls=ctx.get(_CALLS) or 0)


class CallLimitLayer:
    """Call layer of one turn or plan step; the count is that of the whole turn."""

    __slots__ = ("_budget", "_root", "_tier")

    def __init__(self, root: Context, tier: WorkClass) -> None:
        self._root, self._tier, self._budget = root, tier, CALL_LIMITS[tier]

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        calls = (self._root.get(_CALLS) or 0) + 1
        if calls > self._budget:
            raise BudgetExceeded(f"of a {self._tier} request", calls - 1, self._budget, unit="model calls")
        self._root.put(_CALLS, calls)
        if calls == self._budget and request.tools:
            request = request.copy_with(tools=(), tool_choice="none")
        return call(request)
