"""History redaction: what of a conversation is shown to those who may not see all of it.

Source: ClawDesk, stage HistorySanitize. Who reads with the permission `FullHistory` sees everything.
Without it arguments and results of tool calls, reasoning and summaries are replaced, and so are secrets in texts; in a
conversation of somebody else also the texts. Every marker contains `REDACTED`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sophon.messages import Message, ToolCall
from sophon.security import redact

HIDDEN: Final = "[REDACTED: needs the permission FullHistory]"
"""What stands for a value that the reader may not see."""


def redact_message_for_reader(message: Message, *, is_own: bool = True) -> Message:
    """Return the message as somebody without the permission reads it; `is_own`: the conversation is the reader's.

    Roles, order, call ids and names of tools and arguments stay, so a redacted transcript is as valid as the whole one.
    """
    if message.role in ("tool", "system") or message.origin == "compaction":
        content = HIDDEN
    else:
        content = redact_text_for_reader(message.content, is_own=is_own)
    calls = [
        ToolCall(call.id, call.name, hide_values(call.arguments), None if call.malformed is None else HIDDEN)
        for call in message.tool_calls
    ]
    files = message.attachments if is_own else ()
    return Message(message.role, content, calls, message.tool_call_id, message.origin, attachments=files)


def redact_history_for_reader(messages: Iterable[Message]) -> list[Message]:
    """Return the messages of the reader's own conversation, each as `redact_message_for_reader` does."""
    return [redact_message_for_reader(message) for message in messages]


def redact_text_for_reader(text: str, *, is_own: bool = True) -> str:
    """Return a text of a person or of the agent without secrets; of another's conversation a marker. "" stays."""
    if not text:
        return text
    return redact(text) if is_own else HIDDEN


def hide_values(values: Mapping[str, Any]) -> dict[str, str]:
    """Return a mapping with the same keys and no value; a key that may be data itself is replaced, too."""
    return {key if key.isidentifier() and redact(key) == key else HIDDEN: HIDDEN for key in values}
