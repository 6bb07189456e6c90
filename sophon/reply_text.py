"""Text of a turn: what the model wrote before its tool calls and after them, in order.

A turn has one reply per model pass. The text of a reply with tool calls belongs to the answer like that of the last
reply; `Response.full_text` and the chunks of a stream hold all of them.
"""

from collections.abc import Sequence

from sophon.messages import Message


def collect_earlier_texts(messages: Sequence[Message]) -> list[str]:
    """Return the texts that the model wrote before tool calls since the last message of the user, in order.

    A user message with an origin, such as a hint of the framework, does not begin a turn. Blank texts are omitted.
    """
    texts: list[str] = []
    for message in reversed(messages):
        # As `begins_turn` and `is_earlier_text`, without their calls: half of a long turn's messages are results.
        role = message.role
        if role == "user" and not message.origin:
            break
        if role == "assistant" and message.tool_calls and message.content.strip():
            texts.append(message.content)
    texts.reverse()
    return texts


def begins_turn(message: Message) -> bool:
    """Return whether a message is one of the user, with which a turn begins."""
    return message.role == "user" and not message.origin


def is_earlier_text(message: Message) -> bool:
    """Return whether a message is a text that the model wrote before tool calls."""
    return message.role == "assistant" and bool(message.tool_calls) and bool(message.content.strip())
