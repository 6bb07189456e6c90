"""Keeps what a model is asked within its window, on every call of a turn."""

from collections.abc import Mapping
from typing import ClassVar

from sophon.context import Context
from sophon.pipeline import Next
from sophon.settings import ContextWindowSettings
from sophon_middlewares.outer.window.compaction_breaker import CompactionBreaker
from sophon_middlewares.outer.window.fitting_layer import FittingLayer


class ContextWindow:
    """Lays a call layer around the turn's model calls, so that a long loop of tools fits as well as a long history.

    A request (messages, tool schemas, the text that other layers add) above 80 % of the model's window is shortened:
    a model summarises the oldest 60 % of the messages into one behind the system prompt, within 30 s. Without a
    summary, or if it is not enough, the oldest rounds are left out until 70 % are taken, and too large tool results
    are cut (reference/sophon.md 5.4). `max_tokens` becomes no more than what the window has left. Only the model's
    view is shortened; the summary is kept on `ctx.compaction`, and later views start from it.

    `options` are the turn's settings by default (`ContextWindow`). `breaker` lives as long as the process: after three
    failed summaries in a row nobody is asked for one for that model for 60 s. Raises MessageTooLarge if the system
    prompt and the last user message alone do not fit; no call has then been made. Does not count images.
    """

    zone = "outer"
    unique = True
    before = ("PromptToolBridge", "Planning")
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "lays the layer that makes requests fit",
        "model call": "counts the whole request; above 80 % of the window summarises the oldest 60 %, or cuts to 70 %",
    }

    def __init__(
        self, *, options: ContextWindowSettings | None = None, breaker: CompactionBreaker | None = None
    ) -> None:
        self._options = options
        self.breaker = breaker or CompactionBreaker()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        layer = FittingLayer(ctx, self._options or ctx.settings.context_window, self.breaker)
        ctx.call_layers.append(layer)
        try:
            await next(ctx)
        finally:
            ctx.call_layers.remove(layer)
