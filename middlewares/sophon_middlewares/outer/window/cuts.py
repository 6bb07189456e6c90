"""Cut points of a conversation: between rounds, so that no tool call is separated from its results."""

from collections.abc import Collection, Sequence

from sophon.messages import Message

FLOAT_SLACK = 1e-9
"""Tolerance for binary fractions: 0.6 of 5 messages are 3, although the product may be 2.9999."""


def rounds(messages: Sequence[Message], start: int = 0) -> list[range]:
    """Split the indexes from `start` on into rounds: a message with the tool results that follow it."""
    result: list[range] = []
    for index in range(start, len(messages)):
        if messages[index].role == "tool" and result:
            result[-1] = range(result[-1].start, index + 1)
        else:
            result.append(range(index, index + 1))
    return result


def leading_systems(messages: Sequence[Message]) -> int:
    """Return the number of system messages at the beginning."""
    count = 0
    while count < len(messages) and messages[count].role == "system":
        count += 1
    return count


def last_user(messages: Sequence[Message]) -> int | None:
    """Return the index of the last message written by a person; else of the last user message; else None."""
    fallback: int | None = None
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            if not messages[index].origin:
                return index
            fallback = index if fallback is None else fallback
    return fallback


def is_waiting(message: Message, waiting: Collection[str]) -> bool:
    """Return whether one of the message's calls is in `waiting`."""
    return bool(waiting) and any(call.id in waiting for call in message.tool_calls)


def oldest(
    messages: Sequence[Message], start: int, share: float, *, summarised: bool = False, waiting: Collection[str] = ()
) -> int:
    """Return the end index of the oldest `share` of the messages from `start` on; `start` if none can be cut off.

    Rounds down to a boundary between two rounds; if that is `start` itself, up to the first one after it. The newest
    round is never included, nor is anything from the first round on that has a call in `waiting`. A summary in front of
    the messages counts as one more message (`summarised`).
    """
    target = start - summarised + int(share * (len(messages) - start + summarised) + FLOAT_SLACK)
    cut = start
    for piece in rounds(messages, start)[:-1]:
        if is_waiting(messages[piece.start], waiting) or (piece.stop > target and cut > start):
            break
        cut = piece.stop
    return cut
