"""Actions of a turn: its tool calls as rules judge them, with what became of each."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from sophon._python.lazy_dataclass import dataclass

ActionOutcome = Literal["done", "failed", "denied"]
"""What became of a call; `failed` also if its result begins with "error:", whatever the tool reports."""

READ_VERBS: Final = frozenset(
    {
        *("list", "get", "read", "show", "status", "search", "find", "now", "fetch", "view", "describe", "inbox"),
        *("check", "count", "query", "lookup", "history", "ask"),
    }
)
"""Last part of the name of a tool that only reads."""


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call of a turn. `has_effects`: it changes something outside of the turn; `detail` is its result's first
    line.
    """

    tool: str
    arguments: Mapping[str, Any]
    outcome: ActionOutcome
    detail: str = ""
    has_effects: bool = False


def only_reads(tool: str) -> bool:
    """Return whether a tool only reads, by the last part of its name."""
    last = tool.casefold().replace("-", "_").rpartition(".")[2]
    return last in READ_VERBS or last.partition("_")[0] in READ_VERBS


def find_outcome(text: str, *, is_denied: bool) -> ActionOutcome:
    """Return what became of a call by the text of its result."""
    if is_denied:
        return "denied"
    return "failed" if text.lstrip()[:6].casefold() == "error:" else "done"


def first_line(text: str, most: int = 160) -> str:
    """Return the first line of a text, at most so many characters."""
    line = text.strip().partition("\n")[0].strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"


def matches_any(tool: str, patterns: "tuple[str, ...]") -> bool:
    """Return whether the name of a tool is one of these patterns with `*`."""
    return any(fnmatchcase(tool.casefold(), pattern.casefold()) for pattern in patterns)
