"""Compaction: has a model summarise the oldest messages, with a timeout, and stores the compaction on the turn."""

import logging
from collections.abc import Sequence
from functools import partial

from sophon.context import Context
from sophon.errors import BudgetExceeded, ContextOverflow, ModelError, StoreError
from sophon.events import AgentStatus
from sophon.invisible_characters import is_blank
from sophon.messages import Compaction, Message
from sophon.models.model import ModelRequest
from sophon.models.token_counter import is_worth_a_thread
from sophon.settings import ContextWindowSettings
from sophon.turn.provenance import collect_untrusted_sources
from sophon_middlewares.outer.context_window.compaction_breaker import CompactionBreaker
from sophon_middlewares.outer.context_window.compaction_mapping import (
    first_uncovered_index,
    map_index,
    pin_first_message,
)
from sophon_middlewares.outer.context_window.conversation_cut_points import (
    count_leading_system_messages,
    extend_cut,
    find_cut_index,
    find_last_user_message,
)
from sophon_middlewares.outer.context_window.fact_flush import flush_facts
from sophon_middlewares.outer.context_window.summary_request import (
    build_summary_message,
    build_summary_request,
    fence_summary,
    render_entries,
    select_material,
    summary_token_limit,
)
from sophon_middlewares.outer.context_window.threaded_steps import run_step, split_into_pieces

log = logging.getLogger("sophon")

WINDOW_SHARES = (1.0, 0.5)
"""Shares of the window for the request: the first try, and the retry after an overflow."""

SUMMARY_SHARE = 0.75
"""Maximum size of a summary, as a share of the tokens that it replaces: a short conversation has a short summary."""

MIN_SUMMARY_TOKENS = 32
"""Tokens from which a text may be called a summary; what is too little for one stays, or is cut by name."""


class Summariser:
    """Compaction of one request. `compact` sets `ctx.compaction`; a failed summary raises nothing."""

    __slots__ = ("_breaker", "_ctx", "_left", "_options", "_tokens")

    def __init__(self, ctx: Context, options: ContextWindowSettings, breaker: CompactionBreaker) -> None:
        self._ctx = ctx
        self._options = options
        self._breaker = breaker
        self._tokens = ctx.services.gateway.tokens
        self._left = options.timeout.total_seconds()
        """Seconds for all summaries of one shortening."""

    async def compact(self, request: ModelRequest, window: int, target_tokens: int) -> int:
        """Summarise the oldest messages of a request, together with an earlier summary.

        They are the published share, and as many more as leave at most `target_tokens` of messages: what no summary
        covers would have to be dropped. Of more than the model can read at once, the oldest part is summarised. Returns
        the number of messages that the summary replaces; 0 if there is none, or it would save no tokens.
        """
        ctx, model_id = self._ctx, request.model.id
        clock, messages = ctx.services.clock, request.messages
        material, cut = await run_step(clock, messages, partial(self._select_messages, messages, window, target_tokens))
        gain = await run_step(clock, material, partial(self._saved_tokens, messages, material))
        limit = min(summary_token_limit(window), int(gain * SUMMARY_SHARE))
        if limit < MIN_SUMMARY_TOKENS or self._left <= 0 or not self._breaker.allows(model_id, clock.monotonic()):
            return 0
        await flush_facts(ctx, material)
        found = await self._summarise(material, window, model_id, limit)
        if found is None:
            return 0
        summary, read = found
        if read < len(material):
            cut -= len(material) - read
            gain = await run_step(clock, material, partial(self._saved_tokens, messages, material[:read]))
        if self._tokens.count_message(summary) >= gain:
            self._breaker.record_failure(model_id, clock.monotonic())
            return 0
        self._breaker.record_success(model_id)
        up_to = map_index(cut, messages, ctx.messages)
        ctx.compaction = Compaction(summary, covers=up_to - count_leading_system_messages(ctx.messages))
        return read

    def _select_messages(
        self, messages: Sequence[Message], window: int, target_tokens: int
    ) -> tuple[list[Message], int]:
        """Return the messages to summarise, and the index after them."""
        ctx, compaction = self._ctx, self._ctx.compaction
        waiting = {call.id for call in ctx.pending}
        has_summary = compaction is not None
        if compaction is None:
            start = count_leading_system_messages(messages)
        else:
            start = first_uncovered_index(messages, ctx.messages, compaction.covers)
        cut = find_cut_index(messages, start, self._options.oldest, has_summary=has_summary, pending_ids=waiting)
        most = target_tokens - summary_token_limit(window) - self._count(pin_first_message(messages, len(messages)))
        cut = extend_cut(messages, start, cut, most, self._tokens.count_message, waiting)
        if cut <= start:
            return [], cut
        return [*((compaction.summary,) if compaction is not None else ()), *messages[start:cut]], cut

    def _count(self, messages: Sequence[Message]) -> int:
        return sum(map(self._tokens.count_message, messages))

    def _saved_tokens(self, messages: Sequence[Message], material: Sequence[Message]) -> int:
        """Return the tokens that the view loses with the material; first and last user message stay in the view."""
        index = find_last_user_message(messages)
        kept = messages[index] if index is not None else None
        lost = self._count([message for message in material if message is not kept])
        front = count_leading_system_messages(messages)
        is_pinned = material and front < len(messages) and material[0] is messages[front] is not kept
        return lost - self._count(pin_first_message(messages, len(messages))) if is_pinned else lost

    async def _summarise(
        self, material: Sequence[Message], window: int, model_id: str, limit: int
    ) -> tuple[Message, int] | None:
        """Return the summary, and how many messages of the material it has read; None without one."""
        ctx = self._ctx
        ctx.emit(AgentStatus(status="compacting", detail=f"{len(material)} messages"))
        text, read = "", 0
        try:
            text, read = await self._request_summary(material, window, limit)
        except BudgetExceeded:
            return None  # no failure of the model; the reply itself may still be affordable
        except (ModelError, TimeoutError) as failure:
            log.info("no summary for %s: %s", model_id, failure or type(failure).__name__)
        ctx.emit(AgentStatus(status="thinking"))
        if text:
            fenced = fence_summary(text, await _find_sources(ctx), ctx.services.clock.new_nonce())
            return build_summary_message(fenced), read
        self._breaker.record_failure(model_id, ctx.services.clock.monotonic())
        return None

    async def _request_summary(self, material: Sequence[Message], window: int, limit: int) -> tuple[str, int]:
        """Request the summary. Raises ModelError, BudgetExceeded, TimeoutError."""
        clock = self._ctx.services.clock
        started = clock.monotonic()
        try:
            async with clock.timeout(self._left):
                for share in WINDOW_SHARES:
                    try:
                        return await self._complete(material, int(window * share), limit)
                    except ContextOverflow:
                        if share == WINDOW_SHARES[-1]:
                            raise
        finally:
            self._left -= clock.monotonic() - started
        raise AssertionError("the last share either returns or raises")

    async def _complete(self, material: Sequence[Message], window: int, limit: int) -> tuple[str, int]:
        ctx, tokens = self._ctx, self._tokens
        request = ctx.request([], purpose="compaction", max_tokens=min(limit, summary_token_limit(window)))
        # The route's first model answers, which need not be the one whose window is full.
        window = min(window, request.model.context_window)
        share = window / max(1, tokens.calibrate(window, request.model.id))
        clock = ctx.services.clock
        select = partial(select_material, material, int(window * share), tokens.count_message)
        selected, read = await run_step(clock, material, select)
        if not selected:
            return "", 0
        entries = [
            await run_step(clock, selected, partial(render_entries, piece)) for piece in split_into_pieces(selected)
        ]
        request.messages += build_summary_request("\n".join(entries))
        if is_worth_a_thread(request.messages, 0):
            await ctx.services.gateway.prepare_messages(request.messages)
        summary = (await ctx.complete(request)).text.strip()
        return "" if is_blank(summary) else summary, read


async def _find_sources(ctx: Context) -> Sequence[str]:
    """Return the untrusted texts that the conversation has read; `unknown` if the session's records cannot be read."""
    try:
        return await collect_untrusted_sources(ctx)
    except StoreError:
        return ["unknown"]
