"""Cut points of a conversation: between rounds, so that no tool call is separated from its results."""

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from sophon.messages import Message

FLOAT_TOLERANCE = 1e-9
"""Tolerance for binary fractions: 0.6 of 5 messages are 3, although the product may be 2.9999."""


def split_rounds(messages: Sequence[Message], start: int = 0) -> list[range]:
    """Split the indexes from `start` on into rounds: a message with the tool results that follow it."""
    end = len(messages)
    firsts = [index for index in range(start, end) if index == start or messages[index].role != "tool"]
    return [range(first, following) for first, following in pairwise([*firsts, end])]


def count_leading_system_messages(messages: Sequence[Message]) -> int:
    """Return the number of system messages at the beginning."""
    count = 0
    while count < len(messages) and messages[count].role == "system":
        count += 1
    return count


def find_last_user_message(messages: Sequence[Message]) -> int | None:
    """Return the index of the last message written by a person; else of the last user message; else None."""
    fallback: int | None = None
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            if not messages[index].origin:
                return index
            fallback = index if fallback is None else fallback
    return fallback


def has_pending_call(message: Message, pending_ids: Collection[str]) -> bool:
    """Return whether one of the message's calls is in `pending_ids`."""
    return bool(pending_ids) and any(call.id in pending_ids for call in message.tool_calls)


def find_cut_index(
    messages: Sequence[Message],
    start: int,
    share: float,
    *,
    has_summary: bool = False,
    pending_ids: Collection[str] = (),
) -> int:
    """Return the end index of the oldest `share` of the messages from `start` on; `start` if none can be cut off.

    Rounds down to a boundary between two rounds; if that is `start` itself, up to the first one after it. The newest
    round is never included, nor is anything from the first round on that has a call in `pending_ids`. A summary in
    front of the messages counts as one more message (`has_summary`).
    """
    target = start - has_summary + int(share * (len(messages) - start + has_summary) + FLOAT_TOLERANCE)
    cut = start
    for piece in split_rounds(messages, start)[:-1]:
        if has_pending_call(messages[piece.start], pending_ids) or (piece.stop > target and cut > start):
            break
        cut = piece.stop
    return cut


def extend_cut(
    messages: Sequence[Message],
    start: int,
    cut: int,
    max_tokens: int,
    count: Callable[[Message], int],
    pending_ids: Collection[str] = (),
) -> int:
    """Return the first boundary between two rounds, from `cut` on, behind which at most `max_tokens` tokens are left.

    System messages in front and the last user message, which stay visible, are counted. If no boundary leaves
    so little, the last one before the newest round, or before the first round with a call in `pending_ids`.
    """
    kept = find_last_user_message(messages)
    left = sum(map(count, messages[: count_leading_system_messages(messages)])) + sum(map(count, messages[cut:]))
    if kept is not None and kept < cut:
        left += count(messages[kept])
    for piece in split_rounds(messages, start)[:-1]:
        if left <= max_tokens or has_pending_call(messages[piece.start], pending_ids):
            break
        if piece.start < cut:
            continue
        gone = sum(count(messages[index]) for index in piece if index != kept)
        if gone:  # the last user message stays: a cut behind it would only move it in the next turn
            left -= gone
            cut = piece.stop
    return cut
