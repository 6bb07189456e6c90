"""The context window's call layer: makes every request of a turn fit its model's window."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.context.context import STAGE_TIMES
from sophon.errors import ContextOverflow, MessageTooLarge
from sophon.events import ContextCompacted, Stage
from sophon.messages import Message
from sophon.models.model import Call, ModelInfo, ModelRequest, ModelResponse
from sophon.settings import ContextWindowSettings
from sophon.tools.result_limit import limit_result
from sophon_middlewares.outer.context_window.compaction import Summariser
from sophon_middlewares.outer.context_window.compaction_breaker import CompactionBreaker
from sophon_middlewares.outer.context_window.context_view import ContextView, create_truncated_view, create_view
from sophon_middlewares.outer.context_window.conversation_cut_points import count_leading_system_messages
from sophon_middlewares.outer.context_window.conversation_truncation import minimum_tokens, truncate_conversation
from sophon_middlewares.outer.context_window.fact_flush import flush_facts
from sophon_middlewares.outer.context_window.history_limits import limit_history
from sophon_middlewares.outer.context_window.room_filler import ROOM_FILLERS
from sophon_middlewares.outer.context_window.stale_tool_results import StaleResults
from sophon_middlewares.outer.context_window.threaded_steps import run_step
from sophon_middlewares.outer.context_window.window_capacity import (
    RequestOverhead,
    WindowCapacity,
    reserved_answer_tokens,
)

CompactionMethod: TypeAlias = Literal["summary", "truncation", "results"]

OVERFLOW_SHARE = 0.5
"""Share of the size that a provider rejected, to which the conversation is compacted after it."""

RecoveryStep: TypeAlias = Literal["shrink_results", "compact", "give_up"]

LARGE_RESULT_CHARACTERS: Final = 2000

SHRUNK_RESULT_CHARACTERS: Final = 500


@dataclass(slots=True, eq=False)
class ModelWindow:
    """Per-model state of a turn: its window (smaller after an overflow), the shortening threshold, and the view."""

    model: ModelInfo
    window: int
    token_limit: float
    view: ContextView
    is_filled: bool = False


class ContextWindowLayer:
    """Counts what is new since the last call, shortens what does not fit, limits `max_tokens`; one per turn.

    Raises MessageTooLarge before any model call. The turn's own messages stay unchanged.
    """

    __slots__ = (
        *("_breaker", "_budget", "_ctx", "_current", "_options", "_overhead", "_stale", "_time", "_tokens"),
        "_windows",
    )

    def __init__(self, ctx: Context, options: ContextWindowSettings | None, breaker: CompactionBreaker) -> None:
        options = options or ctx.services.settings.context_window
        self._ctx = ctx
        self._options = options
        self._breaker = breaker
        self._tokens = ctx.services.gateway.tokens
        self._overhead = RequestOverhead(ctx, self._tokens)
        self._current: ModelWindow | None = None
        self._windows: dict[str, ModelWindow] = {}
        self._budget = find_task_budget(ctx, options) if options.task_tokens else options.max_tokens
        times = ctx.get(STAGE_TIMES)
        self._time: Callable[[Stage], AbstractContextManager[object]] = nullcontext if times is None else times.within
        """Returns the block whose time is that of a published stage; this layer acts within that of the model call."""
        turns = options.stale_result_turns
        self._stale = StaleResults(ctx, turns, options.stale_result_step) if turns is not None else None

    async def __call__(self, request: ModelRequest, call: Call) -> ModelResponse:
        with self._time("context_guard"):
            if self._stale is not None:
                request = await self._stale.replace(request)
            frame = self._update_window(request)
            self._fill(request, frame)
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
                with self._time("context_guard"):
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

    def prepare(self, request: ModelRequest) -> None:
        """Have what fills the room choose for the model of a request, if it has not yet."""
        with self._time("context_guard"):
            self._fill(request, self._update_window(request))

    def _fill(self, request: ModelRequest, frame: ModelWindow) -> None:
        """Let what fills the room choose, within the threshold from which a request is shortened and the reserve."""
        if frame.is_filled:
            return
        frame.is_filled = True
        fillers = self._ctx.get(ROOM_FILLERS)
        if not fillers:
            return
        fixed = self._overhead.count_tokens(request)
        if request.tools and not frame.model.function_calling:
            fixed += self._tokens.count_tools(request.tools)  # the prompt that describes them is not there yet
        capacity = WindowCapacity.for_model(frame.window, fixed, self._tokens, frame.model.id)
        room = capacity.message_tokens_for_total(int(frame.token_limit)) - frame.view.total_tokens
        for filler in fillers:
            room -= filler.fill(request, max(room, 0))

    def _update_window(self, request: ModelRequest) -> ModelWindow:
        """Return the state of the request's model, with the newest messages counted."""
        model, messages, tokens = request.model, request.messages, self._tokens
        frame = self._current
        if frame is None or frame.model is not model:
            frame = self._current = self._windows.get(model.id)
            if frame is None or frame.model is not model:
                view, window = self._create_view(messages), model.context_window
                frame = ModelWindow(model, window, self._find_limit(window), view)
                self._current = self._windows[model.id] = frame
                return frame
        view = frame.view
        current = view.compaction is self._ctx.compaction and view.counter is tokens.name
        if current and view.is_continued_by(messages):
            view.count_appended(messages, tokens)
        else:
            frame.view = self._create_view(messages)
        return frame

    def _create_view(self, messages: Sequence[Message]) -> ContextView:
        """Return a view of the messages, with what the limits on the history leave of it."""
        view = create_view(self._ctx, messages, self._tokens, self._stale)
        most, tokens = self._options.history_messages, self._options.history_tokens
        if most is None and tokens is None:
            return view
        with self._time("history_sanitize"):
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
        fallback = min(trigger, self._options.fallback)
        if self._options.strategy == "Summary":
            await self._summarise(request, frame, capacity, trigger)
        if frame.view.total_tokens > self._find_target(capacity, trigger):
            await self._truncate(request, frame, capacity, fallback)
        return capacity.request_tokens(frame.view.total_tokens)

    async def _summarise(
        self, request: ModelRequest, frame: ModelWindow, capacity: WindowCapacity, trigger: float
    ) -> None:
        """Summarise until the messages are within the threshold, no summary is possible, or the time has passed."""
        summariser, clock = Summariser(self._ctx, self._options, self._breaker), self._ctx.services.clock
        target = self._find_target(capacity, min(trigger, self._options.fallback))
        while True:
            before = frame.view.total_tokens
            summarised = await summariser.compact(request, frame.window, target)
            if not summarised:
                return
            frame.view = await run_step(clock, request.messages, partial(self._create_view, request.messages))
            self._emit_compacted("summary", summarised, capacity, before, frame.view)
            if frame.view.total_tokens <= self._find_target(capacity, trigger):
                return

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
        cut = await run_step(clock, shown, partial(_find_gone, shown, kept))
        self._emit_compacted("results", len(cut), capacity, before, view)
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
        gone = await run_step(clock, shown, partial(_find_gone, shown, kept))
        if not gone:  # the message that is answered stays, however long it is
            return
        frame.view = await run_step(clock, kept, partial(create_truncated_view, frame.view, kept, self._tokens))
        if self._options.strategy == "Summary":
            await flush_facts(self._ctx, gone)
        self._emit_compacted("truncation", len(gone), capacity, before, frame.view)

    async def _choose_truncation(self, shown: Sequence[Message]) -> Callable[..., list[Message]]:
        """Return the truncation of the strategy; without similarities the middle is dropped."""
        if self._options.strategy == "Summary":
            return truncate_conversation
        from sophon_middlewares.outer.context_window.context_assembly import (  # lazy, as below
            drop_middle,
            keep_relevant,
        )

        if self._options.strategy == "Relevant":
            from sophon_middlewares.outer.context_window.question_similarity import (
                find_similarities,  # lazy: few hosts use it
            )

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


def _find_gone(shown: Sequence[Message], kept: Sequence[Message]) -> list[Message]:
    """Return the messages that are dropped or cut."""
    left = {*map(id, kept)}
    return [message for message in shown if id(message) not in left]


def find_window(ctx: Context) -> ContextWindowLayer | None:
    """Return the layer that fits the requests of a turn to its window; None in a chain without ContextWindow."""
    return next((each for each in ctx.call_layers if isinstance(each, ContextWindowLayer)), None)


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


def next_recovery_step(done: RecoveryStep | None, *, shrinking_suffices: bool) -> RecoveryStep:
    """Return the step after the one that was `done` last; None: the request was rejected for the first time.

    `shrinking_suffices`: with its large results cut the request is below the threshold of the size that was rejected.

    Source: ClawDesk, context guard: first large tool results are cut, then the conversation is compacted, then the
    turn gives up. A step that cannot help is passed over, so that no request is sent in vain.
    """
    if done is None and shrinking_suffices:
        return "shrink_results"
    return "compact" if done in (None, "shrink_results") else "give_up"


def shrink_results(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with tool results of more than 2000 characters cut to 500; the others are the same."""
    return [
        Message("tool", limit_result(each.content, SHRUNK_RESULT_CHARACTERS), [], each.tool_call_id, each.origin)
        if each.role == "tool" and len(each.content) > LARGE_RESULT_CHARACTERS
        else each
        for each in messages
    ]


def find_task_budget(ctx: Context, options: ContextWindowSettings) -> int | None:
    """Return the tokens that a request of the turn may use: those of its task type, else `MaxTokens`; None: no limit.

    The task type is that of classification or routing, else of the keywords of the message.
    """
    from sophon.learning.task_profile import profile_task  # lazy: few settings need it
    from sophon.routing.context_keys import TASK_PROFILE

    profile = ctx.get(TASK_PROFILE) or profile_task(ctx.text)
    return options.task_tokens.get(profile.task_type, options.max_tokens)
