"""Tool filter: offers the model the ten most relevant tools instead of all."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import Message
from sophon.tools.relevance import KEYWORD_SCORE, RelevanceIndex
from sophon.tools.tool import Tool
from sophon.turn.permissions import filter_permitted

ALWAYS_OFFERED = ("datetime.now", "memory.search", "load_skills", "variables.set", "agents.run")
"""Tools that are always offered; they count towards the limit. Source: Sophon's guide, tool filter."""

MAX_CACHED_SELECTIONS = 256

SELECTED: Key[bool] = Key("tool_filter.selected", dump=bool, load=bool)
"""Set once the turn's tools are selected."""

LOAD_TOOLS = "load_tools"
"""Tool that offers the tools of a group; always offered to a text that fits no tool well."""

KEPT_SHARE = 0.5
"""Share of the limit that the tools called in the last turn may take before the current text is looked at."""

TEXT_ONLY: Final[Key[bool]] = Key("tools.text_only", dump=bool, load=bool)
"""Set in a turn without any tool: requests have no tool schemas, and no text of a reply is taken for a call."""


class ToolFilter:
    """Selects `ToolFilter.Top` (10) tools by whole-word relevance: +1.0 per tag, +0.5 per description keyword.

    Always selected: datetime.now, memory.search, tools named by the user, hints of the plan step, tools the turn has
    used. Up to half of the limit stays with the tools that the session's last turn called, so that "do it again" finds
    them. Equal scores are decided by words of the tools' names, then by the last turn (its calls, the tools its reply
    names, its text's scores), then by registration order, which also fills the remaining slots, so a small registry
    passes unchanged. `load_tools` is always selected for a text that fits no tool better than by one word of a
    description, as one in another language: then registration order, and not the text, has chosen. The result is in
    registration order, so that a provider's prompt cache stays valid. ToolExecution rejects a call of a tool that was
    not offered; `load_tools` adds a group for the rest of the turn. Tools that the principal may not use
    (`Guards.Authorization`) take no place among them; who may use none gets a turn that is text
    only (`text_only`).
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "CapabilityRouting", "ContextWindow")
    before = ("PromptToolBridge", "Planning")
    acts = {"turn": "offers the ten most relevant tools; always datetime.now, memory.search and tools the user names"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        top = ctx.services.settings.tool_filter.top
        # A turn that is resumed or run again has its selection, including tools that were loaded since.
        has_selection = ctx.get(SELECTED) is True or (ctx.resumed and ctx.tools is not ctx.services.registry.tools)
        if len(ctx.tools) > top and not has_selection:
            hints = ctx.step.tool_hints if ctx.step else ()
            recorded = ctx.count_recorded()
            asked = (*hints, *list_called_tools(ctx.messages[recorded:])) if recorded < len(ctx.messages) else hints
            last = last_turn(ctx.messages, recorded) if recorded > 1 else ()
            ranking = NO_RANKING
            relevance = ctx.services.registry.relevance
            if last or relevance.may_match(ctx.text):
                asked = (*relevance.find_named_tools(ctx.text), *asked)
                ranking = rank_tools(relevance, ctx.text, last)
            if not ranking.is_supported:
                asked = (*asked, LOAD_TOOLS)
            ctx.put(SELECTED, True)
            ctx.tools = list(_cached_selection(tuple(filter_permitted(ctx, ctx.tools)), ranking, asked, top))
        elif ctx.settings.guards.authorization.enabled and not ctx.get(SELECTED):
            permitted = filter_permitted(ctx, ctx.tools)
            if len(permitted) < len(ctx.tools):
                # A list would be a selection, which `load_tools` extends.
                ctx.tools = list(permitted) if isinstance(ctx.tools, list) else tuple(permitted)
        if not ctx.tools:
            note_text_only(ctx)
        await next(ctx)


class Ranking(NamedTuple):
    """What decides which tools are offered, as plain pairs and names: hashable, so that the selection is cached.

    `called` are the tools that the last turn called, latest first; `of_interest` those that it was about, best first.
    """

    scores: tuple[tuple[str, float], ...] = ()
    name_words: tuple[tuple[str, int], ...] = ()
    called: tuple[str, ...] = ()
    of_interest: tuple[str, ...] = ()

    @property
    def is_supported(self) -> bool:
        """Whether the text says more than one word that a description happens to have."""
        return bool(self.name_words) or any(score > KEYWORD_SCORE for _, score in self.scores)


NO_RANKING = Ranking()
"""Ranking of a first turn whose text has nothing to do with any tool: registration order decides."""


def rank_tools(relevance: RelevanceIndex, text: str, last: Sequence[Message]) -> Ranking:
    """Return the ranking of the tools for a text that follows the turn `last`, which is empty for a first text."""
    return Ranking(
        tuple(relevance.score_tools(text).items()),
        tuple(relevance.count_name_words(text).items()),
        tuple(reversed(list_called_tools(last))),
        tuple(list_tools_of_interest(relevance, last)),
    )


def select_tools(tools: Sequence[Tool], ranking: Ranking, required: Sequence[str], top: int) -> list[Tool]:
    """Return the tools to offer, in registration order; `required` are included beyond `top`, all others within it."""
    wanted = {*ALWAYS_OFFERED, *required}
    chosen = {tool.name for tool in tools if tool.name in wanted}
    others = [tool.name for tool in tools if tool.name not in chosen]
    called = [name for name in dict.fromkeys(ranking.called) if name in others]
    chosen.update(called[: max(0, min(int(top * KEPT_SHARE), top - len(chosen)))])
    scores, name_words = dict(ranking.scores), dict(ranking.name_words)
    last = {name: place for place, name in enumerate(dict.fromkeys((*ranking.called, *ranking.of_interest)))}
    # Stable: what is equal in all three keeps registration order.
    others.sort(key=lambda name: (-scores.get(name, 0.0), -name_words.get(name, 0), last.get(name, len(last))))
    for name in others:
        if len(chosen) >= top:
            break
        chosen.add(name)
    return [tool for tool in tools if tool.name in chosen]


def last_turn(messages: Sequence[Message], stored_count: int) -> Sequence[Message]:
    """Return the messages of the turn before the current one, whose user message is the last stored one.

    Empty for the first turn, and without a history.
    """
    end = stored_count - 1
    for start in range(end - 1, -1, -1):
        if messages[start].role == "user" and not messages[start].origin:
            return messages[start:end]
    return ()


def list_tools_of_interest(relevance: RelevanceIndex, turn: Sequence[Message]) -> list[str]:
    """Return the tools that a finished turn was about: those its reply names, then its text's, best first."""
    if not turn:
        return []
    reply = turn[-1].content if turn[-1].role == "assistant" else ""
    scores, words = relevance.score_tools(turn[0].content), relevance.count_name_words(turn[0].content)
    by_text = sorted({**scores, **words}, key=lambda name: (-scores.get(name, 0.0), -words.get(name, 0)))
    return [*relevance.find_named_tools(reply), *by_text]


def list_called_tools(messages: Sequence[Message]) -> list[str]:
    """Return the names of the tools that were called in these messages."""
    return [call.name for message in messages for call in message.tool_calls]


@lru_cache(maxsize=MAX_CACHED_SELECTIONS)
def _cached_selection(tools: tuple[Tool, ...], ranking: Ranking, asked: tuple[str, ...], top: int) -> tuple[Tool, ...]:
    """Cache the selection; it is the same for all messages with the same ranking, as most have none."""
    return tuple(select_tools(tools, ranking, asked, top))


def note_text_only(ctx: Context) -> bool:
    """Note whether the turn has no tool at all; return it."""
    is_text_only = not ctx.tools
    if is_text_only:
        ctx.put(TEXT_ONLY, True)
    return is_text_only
