"""Context window: keeps every request of a turn within its model's window."""

from collections.abc import Mapping
from typing import ClassVar

from sophon.chain.argument_checks import check_argument
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.settings import ContextWindowSettings
from sophon_middlewares.outer.context_window.compaction_breaker import CompactionBreaker
from sophon_middlewares.outer.context_window.request_fitting import ContextWindowLayer


class ContextWindow:
    """Adds a call layer around the turn's model calls that shortens requests which exceed the window.

    A request (messages, tool schemas, text that other layers add) above 80 % of the model's window is compacted: a
    model summarises the oldest 60 % of the messages into one behind the system prompt, within 30 s, and as many more as
    no longer have room. If summaries fail, the oldest rounds are dropped until 70 % are used; large tool results are
    truncated (Sophon's guide). `max_tokens` is limited to what remains of the window. Only the model's view is
    shortened; the summary is stored on `ctx.compaction`, and later views start from it.

    `options` default to the turn's settings (`ContextWindow`). `breaker` lives as long as the process: after three
    failed summaries in a row it skips compaction for that model for 60 s. Raises MessageTooLarge, before any call, if
    the system prompt and the last user message alone do not fit. Does not count images.
    """

    zone = "outer"
    unique = True
    calls_next = True
    before = ("PromptToolBridge", "Planning", "LlmInvoker")
    repeats_after = ("ToolExecution",)
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "adds a call layer that fits every request to the model's context window",
        "model call": (
            "counts the whole request; above ContextWindow.Trigger of the window summarises the oldest part, or cuts"
        ),
    }

    def __init__(self, *, options: ContextWindowSettings | None = None) -> None:
        check_argument("ContextWindow(options)", options, "trigger", "ContextWindowSettings(trigger=0.7)")
        self.options = options
        self.breaker = CompactionBreaker()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        with ctx.call_layer(ContextWindowLayer(ctx, self.options, self.breaker)):
            await next(ctx)
