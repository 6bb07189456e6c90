"""Routing of a message to an agent: by its name in the message, by chat, by content, by channel."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.agents.definition import AgentDefinition
from sophon.principals import MAIN_AGENT

RouteRule: TypeAlias = Literal["mention", "chat", "content", "channel"]

MAX_CONTENT_CHARACTERS: Final = 4000
"""Beginning of a message that the patterns look at."""

_MENTION: Final = re.compile(r"\s*@([a-z0-9]+(?:-[a-z0-9]+)*)(?=[\s,:;.!?]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AgentRoute:
    """The agent that answers a message, and the rule that chose it; `main` is the agent without a file."""

    agent: str
    rule: RouteRule


def route_to_agent(
    text: str,
    *,
    channel: str,
    chats: Sequence[str],
    agents: Mapping[str, AgentDefinition],
    settings: Mapping[str, str],
    chosen: str | None = None,
) -> AgentRoute | None:
    """Return which agent answers a message, None for the one without a file.

    The most specific rule decides: `@NAME` at the beginning of the text, the chat (`chosen` there, then
    `Agents.Channels`, then the definitions), a pattern, the channel (as the chat). Of several definitions the first by
    name is taken; an agent that does not exist is passed over. `chats` are the names of the chat: its principal and its
    session.
    """
    known = {MAIN_AGENT, *agents}
    mention = _MENTION.match(text)
    if mention is not None and mention[1].lower() in known:
        return AgentRoute(mention[1].lower(), "mention")
    found = chosen if chosen in known else _find_by_place(chats, agents, settings, known)
    if found is not None:
        return AgentRoute(found, "chat")
    beginning = text[:MAX_CONTENT_CHARACTERS]
    matching = next((name for name in sorted(agents) if agents[name].matches(beginning)), None)
    if matching is not None:
        return AgentRoute(matching, "content")
    found = _find_by_place([channel], agents, settings, known)
    return None if found is None else AgentRoute(found, "channel")


def _find_by_place(
    places: Sequence[str], agents: Mapping[str, AgentDefinition], settings: Mapping[str, str], known: set[str]
) -> str | None:
    for place in places:
        if place and settings.get(place) in known:
            return settings[place]
    named = (name for name in sorted(agents) if any(place in agents[name].channels for place in places if place))
    return next(named, None)
