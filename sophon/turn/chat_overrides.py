"""Overrides of a chat: agent, prompt, model, language, memory and tools of the turns of a channel, a chat or a topic.

An override that is None is inherited: a topic inherits from its chat, a chat from its channel. Each has a neutral value
(`NEUTRAL`), which ends the inheritance and leaves the turn as it is without any override.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from typing import Any, Final, Self

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.context import Context
from sophon.errors import InputError
from sophon.extensions import Key
from sophon.preferences import check_preference
from sophon.principals import MAIN_AGENT
from sophon.settings.types.json_type_checks import is_list
from sophon.tools.tool import Tool

MEMORY_GROUP: Final = "memory"
"""Group of the tools of the long-term memory."""
OFFERING_TOOLS: Final = frozenset({"load_skills", "read_skill_file", "load_tools"})
"""Tools that offer others, which are checked themselves."""
MEMORIES: Final = ("chat", "session", "none")
"""What the turns of a chat remember: what its person or group knows, what this conversation said, nothing."""

NEUTRAL: Final[Mapping[str, str]] = {
    "agent": MAIN_AGENT,
    "prompt": "none",
    "model": "auto",
    "language": "any",
    "memory": "chat",
    "tools": "*",
}
"""The value of each override with which it has no effect."""

OVERRIDE_NAMES: Final = tuple(NEUTRAL)
MAX_PROMPT_CHARACTERS: Final = 4000
MAX_TOOLS: Final = 50

_HEADER: Final = "<chat>\nHow to answer in this chat:"
_FOOTER: Final = "</chat>"
_TAG_BEGINNING = lazy_pattern(r"<(?=\s*/?\s*chat\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ChatOverrides:
    """Overrides of one chat; None for what it inherits. `tools` are names and globs; `prompt` is added to the system
    prompt.
    """

    agent: str | None = None
    prompt: str | None = None
    model: str | None = None
    language: str | None = None
    memory: str | None = None
    tools: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the overrides of `to_json`. Raises InputError for an unknown name or an invalid value."""
        overrides = cls()
        for name, value in data.items():
            text = " ".join(map(str, value)) if is_list(value) else str(value)
            overrides = overrides.change(name, text)
        return overrides

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data: what is not inherited."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: [*value] if isinstance(value, tuple) else value for name, value in found.items() if value}

    def change(self, name: str, text: str | None) -> Self:
        """Return the overrides with one changed; None: it is inherited. Raises InputError."""
        changed: dict[str, Any] = {name: None if text is None else parse_override(name, text)}
        return replace(self, **changed)

    def over(self, wider: "ChatOverrides") -> "ChatOverrides":
        """Return the overrides with those of `wider` for what is inherited."""
        own = {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}
        return replace(wider, **own) if own else wider

    def find(self, name: str) -> str:
        """Return an override as text; "" if it is inherited or neutral."""
        value = ", ".join(self.tools or ()) if name == "tools" else getattr(self, name)
        text = str(value or "")
        return "" if text.casefold() == NEUTRAL[name] else text

    @property
    def remembers_for_all(self) -> bool:
        """Whether what a turn learns is for all conversations of the person or group."""
        return (self.memory or "chat") == "chat"

    @property
    def restricts_tools(self) -> bool:
        """Whether any tool may be withheld."""
        return self.tools is not None or self.memory == "none"

    def filter_tools(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return those of the tools that turns of the chat may use."""
        return [tool for tool in tools if self.allows(tool)]

    def allows(self, tool: Tool) -> bool:
        """Return whether turns of the chat may use a tool; tools that only offer others are never withheld."""
        if tool.name in OFFERING_TOOLS:
            return True
        is_named = self.tools is None or any(fnmatchcase(tool.name, each) for each in self.tools)
        return is_named and (self.memory != "none" or tool.group != MEMORY_GROUP)


NO_OVERRIDES: Final = ChatOverrides()

CHAT_OVERRIDES: Key[ChatOverrides] = Key("chat.overrides", dump=ChatOverrides.to_json, load=ChatOverrides.from_json)
"""The overrides of the chat of a turn, as they were when its message was accepted."""


def find_chat_overrides(ctx: Context) -> ChatOverrides:
    """Return the overrides of the chat of a turn, those of its message for a turn within it."""
    return ctx.root.get(CHAT_OVERRIDES) or NO_OVERRIDES


def parse_override(name: str, text: str) -> str | tuple[str, ...]:
    """Return the value of an override of its text. Raises InputError that says what is possible."""
    text = text.strip()
    if name not in NEUTRAL:
        raise InputError(f"a chat has no {name!r}; it has {', '.join(OVERRIDE_NAMES)}")
    if not text:
        raise InputError(f"{name} is empty; {NEUTRAL[name]!r} is the value without effect")
    if text.casefold() == NEUTRAL[name]:
        return (NEUTRAL[name],) if name == "tools" else NEUTRAL[name]
    if name == "language":
        return check_preference(name, text)
    if name == "memory":
        if text.casefold() not in MEMORIES:
            raise InputError(f"memory is {text!r}; it must be one of {', '.join(MEMORIES)}")
        return text.casefold()
    if name == "tools":
        patterns = tuple(dict.fromkeys(text.replace(",", " ").split()))
        if len(patterns) > MAX_TOOLS:
            raise InputError(f"{len(patterns)} tools are named; at most {MAX_TOOLS} names and globs are allowed")
        return patterns
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise InputError(f"{name} has {len(text)} characters; at most {MAX_PROMPT_CHARACTERS} are allowed")
    return text


def build_chat_section(overrides: ChatOverrides) -> str:
    """Return the section of a prompt; "" if the chat says nothing about the answers."""
    said = [
        (overrides.find("language"), "Answer in this language unless asked otherwise, whatever else is preferred: {}."),
        (overrides.find("prompt"), "{}"),
    ]
    lines = [text.format(_TAG_BEGINNING.sub("‹", value)) for value, text in said if value]
    return "\n".join([_HEADER, *lines, _FOOTER]) if lines else ""
