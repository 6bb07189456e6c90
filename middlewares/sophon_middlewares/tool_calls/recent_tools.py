"""Tools that earlier turns of a conversation have used: what a reference ("do it again") or a state rests on."""

from collections.abc import Sequence
from typing import Final

from sophon.messages import Message

RECENT_MESSAGES: Final = 40
"""Messages of the conversation in which an earlier action is looked for."""


def list_recent_tools(messages: Sequence[Message]) -> set[str]:
    """Return the tools whose calls have run with success in the last of these messages."""
    recent = messages[-RECENT_MESSAGES:]
    failed = {
        each.tool_call_id
        for each in recent
        if each.role == "tool" and (each.origin == "denied" or each.content.lstrip()[:6].casefold() == "error:")
    }
    return {call.name for message in recent for call in message.tool_calls if call.id not in failed}
