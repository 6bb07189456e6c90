"""Tool split: offers the tools that the person may use, or chooses the text-only strategy if there are none."""

from collections.abc import Mapping
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.turn.permissions import filter_permitted
from sophon_middlewares.outer.tool_filter.tool_filter import note_text_only


class ToolSplit:
    """Leaves the turn the tools that its principal may use in this channel, within those that loaded skills require.

    All of them are offered: none is left out for its relevance, as ToolFilter does. Without any, the turn is text only:
    no tool schemas, `tool_choice` none, no conversion of texts to calls. Source: ClawDesk, stage 4.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "CapabilityRouting", "ContextWindow")
    follows = ("PublishedStage",)  # the stage that begins with the split
    before = ("PromptToolBridge", "Planning", "AgenticLoop", "LlmInvoker")
    acts: ClassVar[Mapping[str, str]] = {"turn": "offers the tools that the person may use; without any, text only"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        permitted = filter_permitted(ctx, ctx.tools)
        if len(permitted) < len(ctx.tools):
            ctx.tools = list(permitted)
        note_text_only(ctx)
        await next(ctx)
