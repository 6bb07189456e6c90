"""Map a compaction onto a list of messages: what it covers, and how the model's view begins."""

from collections.abc import Sequence

from sophon.messages import Message
from sophon.tools.result_limit import limit_result
from sophon_middlewares.outer.context_window.conversation_cut_points import (
    count_leading_system_messages,
    find_last_user_message,
)

MAX_PINNED_CHARACTERS = 2000
"""Characters that are shown of the first message once it is covered by a summary: its beginning."""


def build_compacted_prefix(messages: Sequence[Message], start: int, summary: Message) -> list[Message]:
    """Return the view's prefix when `summary` replaces all before `start`; first and last user message stay visible."""
    user = find_last_user_message(messages)
    pinned = pin_first_message(messages, start if user is None else min(start, user))
    prefix = [*messages[: count_leading_system_messages(messages)], *pinned, summary]
    if user is not None and user < start:
        prefix.append(messages[user])
    return prefix


def pin_first_message(messages: Sequence[Message], end: int) -> list[Message]:
    """Return the first message of the conversation, shortened if it is long: what a person wrote before `end`; [] if
    something else comes first.
    """
    front = count_leading_system_messages(messages)
    if front >= end or messages[front].role != "user" or messages[front].origin:
        return []
    first = messages[front]
    if len(first.content) <= MAX_PINNED_CHARACTERS:
        return [first]
    if first.shortened is None:
        text = limit_result(first.content, MAX_PINNED_CHARACTERS)
        shortened = Message(first.role, text, images=first.images, attachments=first.attachments)
        object.__setattr__(first, "shortened", shortened)
    return [first.shortened or first]


def first_uncovered_index(messages: Sequence[Message], own: Sequence[Message], covers: int) -> int:
    """Return the index in `messages` of the first one that a compaction of the turn's `own` messages does not cover.

    Moved back to the tool call if its results would be separated from it.
    """
    index = map_index(count_leading_system_messages(own) + covers, own, messages)
    while 0 < index < len(messages) and messages[index].role == "tool":
        index -= 1
    return index


def map_index(position: int, source: Sequence[Message], other: Sequence[Message]) -> int:
    """Map the position of a message in `source` to its position in `other`; the same position if it is not there."""
    if position >= len(source):
        return len(other)
    wanted = source[position]
    if position < len(other) and other[position] is wanted:
        return position
    found = (index for index, message in enumerate(other) if message is wanted)
    return next(found, min(position, len(other)))
