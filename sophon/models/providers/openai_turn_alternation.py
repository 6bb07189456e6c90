"""Turn repair for OpenAI-compatible providers, Ollama and litellm: user and assistant alternate, no message is empty.

The messages of a failed or stopped turn have no answer after them, so two messages of the user follow each other. The
chat templates of many local models reject that, and Anthropic rejects an empty text.
"""

from collections.abc import Sequence

from sophon.messages import Message

SEPARATOR = "\n\n"

_MERGED_ROLES = ("user", "assistant")


def merge_messages(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages without blank replies, and with consecutive messages of one author merged into one.

    Replies with tool calls, their results and system messages stay as they are. A list without faults is returned
    unchanged.
    """
    if not _has_fault(messages):
        return messages
    kept: list[Message] = []
    for message in messages:
        if _is_blank_reply(message):
            continue
        if kept and _can_merge(kept[-1], message):
            kept[-1] = _merge(kept[-1], message)
        else:
            kept.append(message)
    return kept


def alternation_class(message: Message) -> str:
    """Return one letter, cached on the message: `u` for a user's, `a` for a reply, `b` for a blank reply, else `x`.

    A message with tool calls is an `x`.
    """
    letter = message.alternation
    if letter is None:
        letter = "x"
        if message.role in _MERGED_ROLES and not message.tool_calls:
            letter = "u" if message.role == "user" else "b" if _is_blank_reply(message) else "a"
        object.__setattr__(message, "alternation", letter)
    return letter


def _has_fault(messages: Sequence[Message]) -> bool:
    """Return whether `merge_messages` would change something; for a long history the letters are only joined."""
    letters = "".join([message.alternation or alternation_class(message) for message in messages])
    return "uu" in letters or "aa" in letters or "b" in letters


def _is_blank_reply(message: Message) -> bool:
    content = message.content
    return message.role == "assistant" and not message.tool_calls and (not content or content.isspace())


def _can_merge(one: Message, other: Message) -> bool:
    return one.role == other.role and one.role in _MERGED_ROLES and not one.tool_calls and not other.tool_calls


def _merge(one: Message, other: Message) -> Message:
    origin = one.origin if other.origin else ""  # a text of the user's stays one
    return Message(
        one.role,
        f"{one.content}{SEPARATOR}{other.content}",
        origin=origin,
        images=(*one.images, *other.images),
        attachments=(*one.attachments, *other.attachments),
        documents=(*one.documents, *other.documents),
    )
