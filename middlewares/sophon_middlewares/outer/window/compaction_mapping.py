"""Map a compaction onto a list of messages: what it covers, and how the model's view begins."""

from collections.abc import Sequence

from sophon.messages import Message
from sophon_middlewares.outer.window.cut_points import (
    count_leading_system_messages,
    find_last_user_message,
)


def build_compacted_prefix(messages: Sequence[Message], start: int, summary: Message) -> list[Message]:
    """Return the view's prefix when `summary` replaces all before `start`; the last user message stays visible."""
    prefix = [*messages[: count_leading_system_messages(messages)], summary]
    user = find_last_user_message(messages)
    if user is not None and user < start:
        prefix.append(messages[user])
    return prefix


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
