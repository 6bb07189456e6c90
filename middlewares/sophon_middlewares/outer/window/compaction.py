"""Summariser: has a model summarise the oldest messages, with a timeout, and stores the compaction on the turn."""

import logging
from collections.abc import Sequence
from functools import partial

from sophon.context import Context
from sophon.context.provenance import collect_untrusted_sources
from sophon.errors import BudgetExceeded, ContextOverflow, ModelError, StoreError
from sophon.events import AgentStatus
from sophon.messages import Message
from sophon.models.gateway.message_preparation import is_worth_a_thread
from sophon.models.model import ModelRequest
from sophon.settings import ContextWindowSettings
from sophon.stores.sessions.contract import Compaction
from sophon.visible_text import is_blank
from sophon_middlewares.outer.window.compaction_breaker import CompactionBreaker
from sophon_middlewares.outer.window.compaction_mapping import first_uncovered_index, map_index, pin_first_message
from sophon_middlewares.outer.window.cut_points import (
    count_leading_system_messages,
    find_cut_index,
    find_last_user_message,
)
from sophon_middlewares.outer.window.fact_flush import flush_facts
from sophon_middlewares.outer.window.summary_request import (
    build_summary_message,
    build_summary_request,
    fence_summary,
    render_entries,
    select_material,
    summary_token_limit,
)
from sophon_middlewares.outer.window.worker_steps import run_step, split_into_pieces

log = logging.getLogger("sophon")

WINDOW_SHARES = (1.0, 0.5)
"""Shares of the window for the request: the first try, and the retry after an overflow."""


class Summariser:
    """Compaction of one turn. `compact` sets `ctx.compaction`; a failed summary raises nothing."""

    __slots__ = ("_breaker", "_ctx", "_options")

    def __init__(self, ctx: Context, options: ContextWindowSettings, breaker: CompactionBreaker) -> None:
        self._ctx = ctx
        self._options = options
        self._breaker = breaker

    async def compact(self, request: ModelRequest, window: int) -> int:
        """Summarise the oldest messages of a request, together with an earlier summary.

        Returns the number of messages that the summary replaces; 0 if there is none, or none would save tokens.
        """
        ctx, model_id = self._ctx, request.model.id
        clock, messages = ctx.services.clock, request.messages
        material, cut = await run_step(clock, messages, partial(self._select_messages, messages))
        gain = await run_step(clock, material, partial(self._saved_tokens, messages, material))
        if gain <= summary_token_limit(window) or not self._breaker.allows(model_id, ctx.services.clock.monotonic()):
            return 0
        await flush_facts(ctx, material)
        summary = await self._summarise(material, window, model_id)
        if summary is None:
            return 0
        if ctx.services.gateway.tokens.count_message(summary) >= gain:
            self._breaker.record_failure(model_id, ctx.services.clock.monotonic())
            return 0
        self._breaker.record_success(model_id)
        up_to = map_index(cut, messages, ctx.messages)
        ctx.compaction = Compaction(summary, covers=up_to - count_leading_system_messages(ctx.messages))
        return len(material)

    def _select_messages(self, messages: Sequence[Message]) -> tuple[list[Message], int]:
        """Return the messages to summarise, and the index after them."""
        ctx, compaction = self._ctx, self._ctx.compaction
        waiting = {call.id for call in ctx.pending}
        if compaction is None:
            start = count_leading_system_messages(messages)
            cut = find_cut_index(messages, start, self._options.oldest, pending_ids=waiting)
            return list(messages[start:cut]), cut
        start = first_uncovered_index(messages, ctx.messages, compaction.covers)
        cut = find_cut_index(messages, start, self._options.oldest, has_summary=True, pending_ids=waiting)
        return [compaction.summary, *messages[start:cut]] if cut > start else [], cut

    def _saved_tokens(self, messages: Sequence[Message], material: Sequence[Message]) -> int:
        """Return the tokens that the view loses with the material; first and last user message stay in the view."""
        index = find_last_user_message(messages)
        kept = messages[index] if index is not None else None
        count = self._ctx.services.gateway.tokens.count_message
        lost = sum(count(message) for message in material if message is not kept)
        front = count_leading_system_messages(messages)
        is_pinned = material and front < len(messages) and material[0] is messages[front] is not kept
        return lost - sum(map(count, pin_first_message(messages, len(messages)))) if is_pinned else lost

    async def _summarise(self, material: Sequence[Message], window: int, model_id: str) -> Message | None:
        ctx = self._ctx
        ctx.emit(AgentStatus(status="compacting", detail=f"{len(material)} messages"))
        text = ""
        try:
            text = await self._request_summary(material, window)
        except BudgetExceeded:
            return None  # no failure of the model; the reply itself may still be affordable
        except (ModelError, TimeoutError) as failure:
            log.info("no summary for %s: %s", model_id, failure or type(failure).__name__)
        ctx.emit(AgentStatus(status="thinking"))
        if text:
            return build_summary_message(fence_summary(text, await _find_sources(ctx), ctx.services.clock.new_nonce()))
        self._breaker.record_failure(model_id, ctx.services.clock.monotonic())
        return None

    async def _request_summary(self, material: Sequence[Message], window: int) -> str:
        """Request the summary. Raises ModelError, BudgetExceeded, TimeoutError."""
        clock = self._ctx.services.clock
        async with clock.timeout(self._options.timeout.total_seconds()):
            for share in WINDOW_SHARES:
                try:
                    return await self._complete(material, int(window * share))
                except ContextOverflow:
                    if share == WINDOW_SHARES[-1]:
                        raise
        raise AssertionError("the last share either returns or raises")

    async def _complete(self, material: Sequence[Message], window: int) -> str:
        ctx, tokens = self._ctx, self._ctx.services.gateway.tokens
        request = ctx.request([], purpose="compaction", max_tokens=summary_token_limit(window))
        # The route's first model answers, which need not be the one whose window is full.
        window = min(window, request.model.context_window)
        share = window / max(1, tokens.calibrate(window, request.model.id))
        clock = ctx.services.clock
        select = partial(select_material, material, int(window * share), tokens.count_message)
        selected = await run_step(clock, material, select)
        if not selected:
            return ""
        entries = [
            await run_step(clock, selected, partial(render_entries, piece)) for piece in split_into_pieces(selected)
        ]
        request.messages += build_summary_request("\n".join(entries))
        if is_worth_a_thread(request.messages, 0):
            await ctx.services.gateway.prepare_messages(request.messages)
        summary = (await ctx.complete(request)).text.strip()
        return "" if is_blank(summary) else summary


async def _find_sources(ctx: Context) -> Sequence[str]:
    """Return the untrusted texts that the conversation has read; `unknown` if the session's records cannot be read."""
    try:
        return await collect_untrusted_sources(ctx)
    except StoreError:
        return ["unknown"]
