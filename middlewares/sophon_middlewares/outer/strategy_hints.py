"""Strategy hints: what the model is told about a message that rules took for more than a question."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sophon.decisions.strategy import Strategy

HINT_TOOLS: Final[Mapping[Strategy, Sequence[str]]] = {
    "scheduled_task": ("schedules.add", "schedules.list", "schedules.remove"),
    "sub_agent": ("agents.run", "agents.list"),
    "script": ("system.execute", "files.write"),
}
"""Tools that a strategy is worked on with, where they exist. Source: reference/wasp.md 4.8, routing hints."""

_WHAT: Final[Mapping[Strategy, str]] = {
    "scheduled_task": "asks for something at a time or again and again",
    "sub_agent": "asks for an agent that works on its own",
    "script": "asks for a script or for the processing of data",
}
_INSTEAD: Final = "No tool for it is available: say so, and do what can be done now."


def write_hint(strategy: Strategy, parameters: Mapping[str, str], available: Collection[str]) -> str:
    """Return the hint for a strategy, "" for `direct` and `goal`; it names only tools that are available.

    Of the message it has the interval only, which is one of few phrases: a hint is no place for somebody's words.
    """
    what = _WHAT.get(strategy)
    if what is None:
        return ""
    tools = [name for name in HINT_TOOLS[strategy] if name in available]
    facts = "; ".join(f"{name}: {value}" for name, value in parameters.items() if name == "interval")
    advice = f"Tools for it: {', '.join(tools)}." if tools else _INSTEAD
    return f"[The next message probably {what}{f' ({facts})' if facts else ''}. {advice} The person decides.]"
