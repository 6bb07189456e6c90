"""The call layer of one turn that makes every request fit the window of the model it goes to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sophon.context import Context
from sophon.errors import ContextOverflow, MessageTooLarge
from sophon.events import ContextCompacted
from sophon.messages import Message
from sophon.models.model import Call, ModelInfo, ModelRequest, ModelResponse
from sophon.settings import ContextWindowSettings
from sophon_middlewares.outer.window.compaction_breaker import CompactionBreaker
from sophon_middlewares.outer.window.context_view import ContextView, begun_view, shortened_view
from sophon_middlewares.outer.window.fitting import fitted, smallest
from sophon_middlewares.outer.window.room import Room, answer_room
from sophon_middlewares.outer.window.summarising import Summariser
from sophon_middlewares.outer.window.surroundings import Surroundings

How: TypeAlias = Literal["summary", "truncation"]

OVERFLOW_SHARE = 0.5
"""Of what a provider refused as too large, for the one further try. Source: reference/features.md 60."""


@dataclass(slots=True, eq=False)
class Frame:
    """What the turn knows of one model: its window, smaller after an overflow, the tokens beyond which a request is
    shortened, and what it is shown.
    """

    model: ModelInfo
    window: int
    limit: float
    view: ContextView


class FittingLayer:
    """Counts what is new since the last call, shortens what does not fit, bounds `max_tokens`; made for one turn.

    Raises MessageTooLarge before anybody is asked. The turn's own messages stay as they are.
    """

    __slots__ = ("_breaker", "_ctx", "_frame", "_frames", "_options", "_surroundings", "_tokens")

    def __init__(self, ctx: Context, options: ContextWindowSettings, breaker: CompactionBreaker) -> None:
        self._ctx = ctx
        self._options = options
        self._breaker = breaker
        self._tokens = ctx.services.gateway.tokens
        self._surroundings = Surroundings(ctx, self._tokens)
        self._frame: Frame | None = None
        self._frames: dict[str, Frame] = {}

    async def __call__(self, request: ModelRequest, call: Call) -> ModelResponse:
        frame = self._followed(request)
        fixed = self._surroundings.size(request)
        used = self._tokens.calibrated(frame.view.total + fixed, frame.model.id)
        if used > frame.limit:
            used = await self._shorten(request, frame, fixed, self._options.trigger)
        try:
            return await call(_bounded(request, frame, fixed, used))
        except ContextOverflow as overflow:
            if overflow.visible:
                raise
            frame.window = min(frame.window, used)
            frame.limit = limit(frame.window, self._options.trigger)
            used = await self._tighten(request, frame, fixed, overflow)
        return await call(_bounded(request, frame, fixed, used))

    def _followed(self, request: ModelRequest) -> Frame:
        """What is known of the request's model, with the newest messages counted."""
        model, messages, tokens = request.model, request.messages, self._tokens
        frame = self._frame
        if frame is None or frame.model is not model:
            frame = self._frame = self._of_model(model, messages)
        view = frame.view
        current = view.compaction is self._ctx.compaction and view.counter is tokens.name
        if current and view.continues(messages):
            view.follow(messages, tokens)
        else:
            frame.view = begun_view(self._ctx, messages, tokens)
        return frame

    def _of_model(self, model: ModelInfo, messages: Sequence[Message]) -> Frame:
        frame = self._frames.get(model.id)
        if frame is None or frame.model is not model:
            view = begun_view(self._ctx, messages, self._tokens)
            window = model.context_window
            frame = self._frames[model.id] = Frame(model, window, limit(window, self._options.trigger), view)
        return frame

    async def _shorten(self, request: ModelRequest, frame: Frame, fixed: int, trigger: float) -> int:
        """Summarise, and truncate if that was not enough; gives what the request then takes of the window."""
        room = Room.of(frame.window, fixed, self._tokens, frame.model.id)
        self._check(frame.view.of(request.messages), room, frame.model)
        before = frame.view.total
        summariser = Summariser(self._ctx, self._options, self._breaker)
        if summarised := await summariser.compact(request, frame.window):
            frame.view = begun_view(self._ctx, request.messages, self._tokens)
            self._tell("summary", summarised, room, before, frame.view)
        if frame.view.total > room.share(trigger):
            self._truncate(request, frame, room, min(trigger, self._options.fallback))
        return room.used(frame.view.total)

    async def _tighten(self, request: ModelRequest, frame: Frame, fixed: int, overflow: ContextOverflow) -> int:
        """As `_shorten`, after a provider has refused a request that was thought to fit; raises what it raised."""
        try:
            return await self._shorten(request, frame, fixed, OVERFLOW_SHARE)
        except MessageTooLarge:
            raise overflow from overflow.__cause__

    def _truncate(self, request: ModelRequest, frame: Frame, room: Room, share: float) -> None:
        shown, before = frame.view.of(request.messages), frame.view.total
        kept = fitted(shown, room.share(share), room.most, count=self._tokens.message, waiting=self._waiting())
        frame.view = shortened_view(frame.view, kept, self._tokens)
        gone = {id(message) for message in shown} - {id(message) for message in kept}
        self._tell("truncation", len(gone), room, before, frame.view)

    def _check(self, shown: Sequence[Message], room: Room, model: ModelInfo) -> None:
        least = smallest(shown, self._tokens.message, self._waiting())
        if least > room.most:
            raise MessageTooLarge(room.used(least), room.window - answer_room(room.window), model.id)

    def _waiting(self) -> set[str]:
        return {call.id for call in self._ctx.pending}

    def _tell(self, how: How, messages: int, room: Room, before: int, view: ContextView) -> None:
        after = room.used(view.total)
        event = ContextCompacted(how=how, messages=messages, tokens_before=room.used(before), tokens_after=after)
        self._ctx.emit(event)


def limit(window: int, trigger: float) -> float:
    """Tokens beyond which a request is shortened: a share of the window, and never so many that no answer fits."""
    return min(window * trigger, window - answer_room(window))


def _bounded(request: ModelRequest, frame: Frame, fixed: int, used: int) -> ModelRequest:
    """The request with what the model is shown, its size, and room for no more answer than the window has left."""
    left, size = frame.window - used, frame.view.total + fixed
    if frame.view.opening:
        shown = frame.view.of(request.messages)
        return request.with_(messages=shown, max_tokens=min(request.max_tokens, left), input_tokens=size)
    if request.max_tokens > left:
        return request.with_(max_tokens=left, input_tokens=size)
    request.input_tokens = size
    return request
