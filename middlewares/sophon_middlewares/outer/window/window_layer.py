"""The context window's call layer: makes every request of a turn fit its model's window."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Literal, TypeAlias

from sophon.context import Context
from sophon.errors import ContextOverflow, MessageTooLarge
from sophon.events import ContextCompacted
from sophon.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.models.model import Call, ModelInfo, ModelRequest, ModelResponse
from sophon.settings import ContextWindowSettings
from sophon_middlewares.outer.window.compaction import Summariser
from sophon_middlewares.outer.window.compaction_breaker import CompactionBreaker
from sophon_middlewares.outer.window.context_view import ContextView, create_truncated_view, create_view
from sophon_middlewares.outer.window.conversation_truncation import minimum_tokens, truncate_conversation
from sophon_middlewares.outer.window.cut_points import count_leading_system_messages
from sophon_middlewares.outer.window.history_limits import limit_history
from sophon_middlewares.outer.window.overflow_recovery import RecoveryStep, next_recovery_step, shrink_results
from sophon_middlewares.outer.window.request_overhead import RequestOverhead
from sophon_middlewares.outer.window.stale_results import StaleResults
from sophon_middlewares.outer.window.task_budget import find_task_budget
from sophon_middlewares.outer.window.window_capacity import WindowCapacity, reserved_answer_tokens
from sophon_middlewares.outer.window.worker_steps import run_step

CompactionMethod: TypeAlias = Literal["summary", "truncation", "results"]

OVERFLOW_SHARE = 0.5
"""Share of the size that a provider rejected, to which the conversation is compacted after it."""


@dataclass(slots=True, eq=False)
class ModelWindow:
    """Per-model state of a turn: its window (smaller after an overflow), the shortening threshold, and the view."""

    model: ModelInfo
    window: int
    token_limit: float
    view: ContextView


class ContextWindowLayer:
    """Counts what is new since the last call, shortens what does not fit, limits `max_tokens`; one per turn.

    Raises MessageTooLarge before any model call. The turn's own messages stay unchanged.
    """

    __slots__ = ("_breaker", "_budget", "_ctx", "_current", "_options", "_overhead", "_stale", "_tokens", "_windows")

    def __init__(self, ctx: Context, options: ContextWindowSettings, breaker: CompactionBreaker) -> None:
        self._ctx = ctx
        self._options = options
        self._breaker = breaker
        self._tokens = ctx.services.gateway.tokens
        self._overhead = RequestOverhead(ctx, self._tokens)
        self._current: ModelWindow | None = None
        self._windows: dict[str, ModelWindow] = {}
        self._budget = find_task_budget(ctx, options)
        turns = options.stale_result_turns
        self._stale = StaleResults(ctx, turns) if turns is not None else None

    async def __call__(self, request: ModelRequest, call: Call) -> ModelResponse:
        if self._stale is not None:
            request = await self._stale.replace(request)
        frame = self._update_window(request)
        fixed = self._overhead.count_tokens(request)
        used = self._tokens.calibrate(frame.view.total_tokens + fixed, frame.model.id)
        if used > frame.token_limit:
            used = await self._shorten(request, frame, fixed, self._options.trigger)
        step: RecoveryStep | None = None
        while True:
            try:
                return await call(_apply(request, frame, fixed, used))
            except ContextOverflow as overflow:
                if overflow.visible:
                    raise
                frame.window = min(frame.window, used)
                frame.token_limit = self._find_limit(frame.window)
                shrunk = await self._shrink_results(request, frame, fixed) if step is None else None
                step = next_recovery_step(step, shrinking_suffices=shrunk is not None)
                if step == "give_up":
                    raise
                if step == "compact":
                    used = await self._retry_shorter(request, frame, fixed, overflow)
                elif shrunk is not None:
                    used = self._tokens.calibrate(shrunk + fixed, frame.model.id)

    def _update_window(self, request: ModelRequest) -> ModelWindow:
        """Return the state of the request's model, with the newest messages counted."""
        model, messages, tokens = request.model, request.messages, self._tokens
        frame = self._current
        if frame is None or frame.model is not model:
            frame = self._current = self._windows.get(model.id)
            if frame is None or frame.model is not model:
                self._current = self._windows[model.id] = self._create_window(model, messages)
                return self._current
        view = frame.view
        current = view.compaction is self._ctx.compaction and view.counter is tokens.name
        if current and view.is_continued_by(messages):
            view.count_appended(messages, tokens)
        else:
            frame.view = self._create_view(messages)
        return frame

    def _create_window(self, model: ModelInfo, messages: Sequence[Message]) -> ModelWindow:
        view, window = self._create_view(messages), model.context_window
        return ModelWindow(model, window, self._find_limit(window), view)

    def _create_view(self, messages: Sequence[Message]) -> ContextView:
        """Return a view of the messages, with what the limits on the history leave of it."""
        view = create_view(self._ctx, messages, self._tokens, self._stale)
        most, tokens = self._options.history_messages, self._options.history_tokens
        if most is None and tokens is None:
            return view
        kept = limit_history(view.visible_messages(list(messages)), most, tokens, self._tokens.count_message)
        return view if kept is None else create_truncated_view(view, kept, self._tokens)

    def _find_limit(self, window: int) -> float:
        limit = shortening_threshold(window, self._options.trigger, self._options.reserve)
        return limit if self._budget is None else min(limit, self._budget)

    def _find_target(self, capacity: WindowCapacity, share: float) -> int:
        """Return the maximum size of the messages for a share of the window, within the budget of the task."""
        if self._options.reserve is not None:
            share *= 1 - find_reserve(capacity.window, self._options.reserve) / capacity.window
        most = capacity.message_tokens_for_share(share)
        return most if self._budget is None else min(most, capacity.message_tokens_for_total(self._budget))

    async def _shorten(self, request: ModelRequest, frame: ModelWindow, fixed: int, trigger: float) -> int:
        """Summarise, and truncate if that was not enough; return the tokens that the request then uses."""
        capacity = WindowCapacity.for_model(frame.window, fixed, self._tokens, frame.model.id)
        await self._check(frame.view.visible_messages(request.messages), capacity, frame.model)
        before = frame.view.total_tokens
        if self._options.strategy == "Summary":
            summariser = Summariser(self._ctx, self._options, self._breaker)
            if summarised := await summariser.compact(request, frame.window):
                create = partial(self._create_view, request.messages)
                frame.view = await run_step(self._ctx.services.clock, request.messages, create)
                self._emit_compacted("summary", summarised, capacity, before, frame.view)
        if frame.view.total_tokens > self._find_target(capacity, trigger):
            await self._truncate(request, frame, capacity, min(trigger, self._options.fallback))
        return capacity.request_tokens(frame.view.total_tokens)

    async def _shrink_results(self, request: ModelRequest, frame: ModelWindow, fixed: int) -> int | None:
        """Cut large tool results if that brings the request below the threshold; return the tokens of its messages."""
        shown, before = frame.view.visible_messages(request.messages), frame.view.total_tokens
        clock = self._ctx.services.clock
        kept = await run_step(clock, shown, partial(shrink_results, shown))
        view = await run_step(clock, kept, partial(create_truncated_view, frame.view, kept, self._tokens))
        capacity = WindowCapacity.for_model(frame.window, fixed, self._tokens, frame.model.id)
        if view.total_tokens >= before or capacity.request_tokens(view.total_tokens) > frame.token_limit:
            return None
        frame.view = view
        cut = await run_step(clock, shown, partial(_count_gone, shown, kept))
        self._emit_compacted("results", cut, capacity, before, view)
        return view.total_tokens

    async def _retry_shorter(
        self, request: ModelRequest, frame: ModelWindow, fixed: int, overflow: ContextOverflow
    ) -> int:
        """Shorten after a provider rejected the request as too large; re-raise its error if that is impossible."""
        try:
            return await self._shorten(request, frame, fixed, OVERFLOW_SHARE)
        except MessageTooLarge:
            raise overflow from overflow.__cause__

    async def _truncate(
        self, request: ModelRequest, frame: ModelWindow, capacity: WindowCapacity, share: float
    ) -> None:
        shown, before = frame.view.visible_messages(request.messages), frame.view.total_tokens
        clock = self._ctx.services.clock
        truncate = partial(
            await self._choose_truncation(shown),
            shown,
            self._find_target(capacity, share),
            capacity.max_message_tokens,
            count=self._tokens.count_message,
            pending_ids=self._waiting(),
        )
        kept = await run_step(clock, shown, truncate)
        frame.view = await run_step(clock, kept, partial(create_truncated_view, frame.view, kept, self._tokens))
        gone = await run_step(clock, shown, partial(_count_gone, shown, kept))
        self._emit_compacted("truncation", gone, capacity, before, frame.view)

    async def _choose_truncation(self, shown: Sequence[Message]) -> Callable[..., list[Message]]:
        """Return the truncation of the strategy; without similarities the middle is dropped."""
        if self._options.strategy == "Summary":
            return truncate_conversation
        from sophon_middlewares.outer.window.context_assembly import drop_middle, keep_relevant  # lazy, as below

        if self._options.strategy == "Relevant":
            from sophon_middlewares.outer.window.question_similarity import find_similarities  # lazy: few hosts use it

            similarities = await find_similarities(self._ctx, shown)
            if similarities is not None:
                return partial(keep_relevant, similarities=similarities)
        return drop_middle

    async def _check(self, shown: Sequence[Message], capacity: WindowCapacity, model: ModelInfo) -> None:
        check = partial(minimum_tokens, shown, self._tokens.count_message, self._waiting())
        least = await run_step(self._ctx.services.clock, shown, check)
        if least > capacity.max_message_tokens:
            leading = shown[: count_leading_system_messages(shown)]
            prompt = sum(map(self._tokens.count_message, leading))
            is_prompt = prompt >= capacity.max_message_tokens
            raise MessageTooLarge(
                capacity.request_tokens(prompt if is_prompt else least),
                capacity.window - reserved_answer_tokens(capacity.window),
                model.id,
                is_system_prompt=is_prompt,
            )

    def _waiting(self) -> set[str]:
        return {call.id for call in self._ctx.pending}

    def _emit_compacted(
        self, how: CompactionMethod, messages: int, capacity: WindowCapacity, before: int, view: ContextView
    ) -> None:
        after = capacity.request_tokens(view.total_tokens)
        event = ContextCompacted(
            how=how, messages=messages, tokens_before=capacity.request_tokens(before), tokens_after=after
        )
        self._ctx.emit(event)


def _count_gone(shown: Sequence[Message], kept: Sequence[Message]) -> int:
    return len(set(map(id, shown)).difference(map(id, kept)))


@lru_cache(maxsize=64)
def shortening_threshold(window: int, trigger: float, reserve: int | None = None) -> float:
    """Return the tokens above which a request is shortened: a share of the window that leaves room for the answer.

    With a `reserve` it is a share of the rest of the window.
    """
    usable = window - find_reserve(window, reserve)
    return min(usable * trigger, window - reserved_answer_tokens(window))


def find_reserve(window: int, reserve: int | None) -> int:
    """Return the tokens that are kept for the answer; a small window keeps half of itself at most."""
    return 0 if reserve is None else min(reserve, window // 2)


def _apply(request: ModelRequest, frame: ModelWindow, fixed: int, used: int) -> ModelRequest:
    """Return the request with the visible messages, its size, and `max_tokens` limited to the rest of the window."""
    left, size = frame.window - used, frame.view.total_tokens + fixed
    if frame.view.prefix:
        shown = frame.view.visible_messages(request.messages)
        return request.copy_with(messages=shown, max_tokens=min(request.max_tokens, left), input_tokens=size)
    if request.max_tokens > left:
        return request.copy_with(max_tokens=left, input_tokens=size)
    request.input_tokens = size
    return request
