"""Offers the model the ten tools that fit the message best, instead of all."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from sophon.context import Context
from sophon.messages import Message
from sophon.pipeline import Next
from sophon.tools.tool import Tool

ALWAYS = ("datetime.now", "memory.search")
"""Source: reference/sophon.md 5.5; they count in the number."""

KNOWN_CHOICES = 256


class ToolFilter:
    """Chooses `ToolFilter.Top` (10) tools by whole-word relevance: +1.0 per tag, +0.5 per description keyword.

    Always in: datetime.now, memory.search, what the person names, what the plan step hints at, what the turn has used.
    Free places are filled in order of registration, so a small registry passes unchanged. The order is that of
    registration, so that a provider's prompt cache holds. A withheld tool that the model guesses is refused by
    ToolExecution; `load_tools` adds a group for the rest of the turn.
    """

    zone = "outer"
    unique = True
    after = ("SessionEvents", "CapabilityRouting", "ContextWindow")
    before = ("PromptToolBridge", "Planning")
    acts = {"turn": "offers the ten tools that fit best; always datetime.now, memory.search and what was named"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        top = ctx.settings.tool_filter.top
        if len(ctx.tools) > top and not _chosen_before(ctx):
            relevance = ctx.services.registry.relevance
            hints = ctx.step.tool_hints if ctx.step else ()
            asked = [*relevance.named(ctx.text), *hints, *used(ctx.messages[ctx.recorded :])]
            scores = tuple(relevance.scores(ctx.text).items())
            ctx.tools = list(_chosen(tuple(ctx.tools), scores, tuple(asked), top))
        await next(ctx)


def choose(tools: Sequence[Tool], scores: Mapping[str, float], asked: Sequence[str], top: int) -> list[Tool]:
    """The tools to offer, in order of registration; `asked` come in even beyond `top`, everything else within it."""
    wanted = {*ALWAYS, *asked}
    chosen = {tool.name for tool in tools if tool.name in wanted}
    free = top - len(chosen)
    if free > 0:
        others = [tool.name for tool in tools if tool.name not in chosen]
        scored = [name for name in others if name in scores]
        scored.sort(key=lambda name: -scores[name])  # equal scores stay in order
        chosen.update(scored[:free])
        for name in others:
            if len(chosen) >= top:
                break
            chosen.add(name)
    return [tool for tool in tools if tool.name in chosen]


def used(messages: Sequence[Message]) -> list[str]:
    """The tools that were called in these messages."""
    return [call.name for message in messages for call in message.tool_calls]


@lru_cache(maxsize=KNOWN_CHOICES)
def _chosen(
    tools: tuple[Tool, ...], scores: tuple[tuple[str, float], ...], asked: tuple[str, ...], top: int
) -> tuple[Tool, ...]:
    """The choice is the same for all messages that speak for the same tools, as most do that speak for none."""
    return tuple(choose(tools, dict(scores), asked, top))


def _chosen_before(ctx: Context) -> bool:
    """A resumed turn goes on with the tools it had, those that were loaded meanwhile included."""
    return ctx.resumed and ctx.tools is not ctx.services.registry.tools
