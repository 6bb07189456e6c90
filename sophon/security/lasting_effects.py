"""Lasting effects: the tools that change what outlasts a conversation, and why a person is asked about them.

What an injected instruction leaves in the memory, a schedule or a goal acts in later conversations, which never read
the text that it came from.
"""

from collections.abc import Sequence
from typing import Final

from sophon.security.action_types import find_action_type

LASTING_ACTIONS: Final = frozenset(
    {"memory_write", "create_schedule", "delete_schedule", "create_agent", "delete_agent"}
)
"""Action types whose tools have lasting effects, unless they declare otherwise."""

LASTING_EFFECT: Final = "lasting_effect"
"""Rule of the escalation."""

MAX_NAMED_SOURCES: Final = 3


def has_lasting_effect(tool_name: str, declared: bool | None) -> bool:
    """Return whether a tool changes what outlasts the conversation: as it declares, else by its action type."""
    return find_action_type(tool_name) in LASTING_ACTIONS if declared is None else declared


def explain_lasting_effect(sources: Sequence[str]) -> str:
    """Return why a person is asked about a call with a lasting effect, as a sentence that names what was read."""
    more = f" and {len(sources) - MAX_NAMED_SOURCES} more" if len(sources) > MAX_NAMED_SOURCES else ""
    named = ", ".join(sources[:MAX_NAMED_SOURCES])
    return (
        f"it changes what outlasts this conversation, which has read text of others that may ask for it: {named}{more}"
    )
