"""Tool filter: offers the model the ten most relevant tools instead of all."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.messages import Message
from sophon.tools.tool import Tool

ALWAYS_OFFERED = ("datetime.now", "memory.search")
"""Tools that are always offered; they count towards the limit. Source: reference/sophon.md 5.5."""

MAX_CACHED_SELECTIONS = 256


class ToolFilter:
    """Selects `ToolFilter.Top` (10) tools by whole-word relevance: +1.0 per tag, +0.5 per description keyword.

    Always selected: datetime.now, memory.search, tools named by the user, hints of the plan step, tools the turn has
    used. Remaining slots are filled in registration order, so a small registry passes unchanged. The result is in
    registration order, so that a provider's prompt cache stays valid. ToolExecution rejects a call of a tool that was
    not offered; `load_tools` adds a group for the rest of the turn.
    """

    zone = "outer"
    unique = True
    after = ("SessionEvents", "CapabilityRouting", "ContextWindow")
    before = ("PromptToolBridge", "Planning")
    acts = {"turn": "offers the ten most relevant tools; always datetime.now, memory.search and tools the user names"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        top = ctx.settings.tool_filter.top
        if len(ctx.tools) > top and not _is_restored(ctx):
            relevance = ctx.services.registry.relevance
            hints = ctx.step.tool_hints if ctx.step else ()
            asked = [*relevance.find_named_tools(ctx.text), *hints, *list_called_tools(ctx.messages[ctx.recorded :])]
            scores = tuple(relevance.score_tools(ctx.text).items())
            ctx.tools = list(_cached_selection(tuple(ctx.tools), scores, tuple(asked), top))
        await next(ctx)


def select_tools(tools: Sequence[Tool], scores: Mapping[str, float], required: Sequence[str], top: int) -> list[Tool]:
    """Return the tools to offer, in registration order; `required` are included beyond `top`, all others within it."""
    wanted = {*ALWAYS_OFFERED, *required}
    chosen = {tool.name for tool in tools if tool.name in wanted}
    free = top - len(chosen)
    if free > 0:
        others = [tool.name for tool in tools if tool.name not in chosen]
        scored = [name for name in others if name in scores]
        scored.sort(key=lambda name: -scores[name])  # stable: equal scores keep registration order
        chosen.update(scored[:free])
        for name in others:
            if len(chosen) >= top:
                break
            chosen.add(name)
    return [tool for tool in tools if tool.name in chosen]


def list_called_tools(messages: Sequence[Message]) -> list[str]:
    """Return the names of the tools that were called in these messages."""
    return [call.name for message in messages for call in message.tool_calls]


@lru_cache(maxsize=MAX_CACHED_SELECTIONS)
def _cached_selection(
    tools: tuple[Tool, ...], scores: tuple[tuple[str, float], ...], asked: tuple[str, ...], top: int
) -> tuple[Tool, ...]:
    """Cache the selection; it is the same for all messages with the same scores, as most have none."""
    return tuple(select_tools(tools, dict(scores), asked, top))


def _is_restored(ctx: Context) -> bool:
    """Return whether a resumed turn has its selection already, including tools that were loaded since."""
    return ctx.resumed and ctx.tools is not ctx.services.registry.tools
