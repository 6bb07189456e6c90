"""Truncation of a conversation without a model: drops the oldest rounds and truncates large tool results."""

from collections.abc import Callable, Collection, Iterable, Sequence

from sophon.messages import Message
from sophon.tools.truncation import truncate
from sophon_middlewares.outer.window.cuts import is_waiting, last_user, rounds

NOTE = Message("user", "[Older messages are left out here: they no longer fit the model's window]", origin="hint")
"""Inserted at the first gap, so that the model knows of the omission."""

RESULT_SHARE = 4
"""Tool results larger than one fourth of the target size are truncated, in every round."""

RESULT_FLOOR = 200
"""Minimum characters kept of a tool result."""

Count = Callable[[Message], int]


def smallest(messages: Sequence[Message], count: Count, waiting: Collection[str] = ()) -> int:
    """Return the tokens of what is never dropped: system messages, last user message, rounds with a call in
    `waiting`.
    """
    pieces = rounds(messages)
    return sum(_size(_slice(messages, pieces[at]), count) for at in _required_rounds(messages, pieces, waiting))


def fitted(
    messages: Sequence[Message], target: int, most: int, *, count: Count, waiting: Collection[str] = ()
) -> list[Message]:
    """Return at most `target` tokens of whole rounds, newest first; NOTE marks a gap.

    Never dropped: see `smallest`. The newest round is kept if it fits `most` with its tool results truncated, so that
    the model sees what it has just requested. A summary is dropped only if nothing else is left to drop.
    """
    pieces = rounds(messages)
    target, most = target - count(NOTE), most - count(NOTE)
    kept = {at: _slice(messages, pieces[at]) for at in _required_rounds(messages, pieces, waiting)}
    used = sum(_size(piece, count) for piece in kept.values())
    newest = len(pieces) - 1
    if newest not in kept:
        piece = shortened(_slice(messages, pieces[newest]), target - used, count)
        if used + (size := _size(piece, count)) <= most:
            kept[newest], used = piece, used + size
    for at in _by_priority(messages, pieces, kept):
        piece = shortened(_slice(messages, pieces[at]), target - used, count, each=target // RESULT_SHARE)
        if used + (size := _size(piece, count)) <= target:
            kept[at], used = piece, used + size
        elif not _is_summary(messages[pieces[at].start]):
            break
    return _join(kept, len(pieces))


def shortened(piece: Sequence[Message], room: int, count: Count, *, each: int | None = None) -> Sequence[Message]:
    """Return a round with its largest tool results truncated to at most `room` tokens, or as near as possible.

    With `each`, only results of more than `each` tokens are truncated, to that size.
    """
    results = [count(message) for message in piece if message.role == "tool"]
    rest = _size(piece, count) - sum(results)
    cap = each if each is not None else level(results, room - rest)
    if not results or max(results) <= cap:
        return piece
    return [_cut(message, cap, count) if message.role == "tool" else message for message in piece]


def level(sizes: Sequence[int], room: int) -> int:
    """Return the largest cap at which the sizes, each limited to it, sum up to at most `room`."""
    left = room
    for position, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - position)
        if size > share:
            return max(share, 0)
        left -= size
    return max(sizes, default=0)


def _cut(result: Message, cap: int, count: Count) -> Message:
    size = count(result)
    if size <= cap or len(result.content) <= RESULT_FLOOR:
        return result
    limit = max(RESULT_FLOOR, len(result.content) * cap // size)
    while True:
        cut = Message("tool", truncate(result.content, limit), tool_call_id=result.tool_call_id, origin=result.origin)
        if limit == RESULT_FLOOR or count(cut) <= cap:
            return cut
        limit = max(RESULT_FLOOR, limit * 3 // 4)


def _required_rounds(messages: Sequence[Message], pieces: Sequence[range], waiting: Collection[str]) -> list[int]:
    spoken = last_user(messages)
    return [
        at
        for at, piece in enumerate(pieces)
        if piece.start == spoken or messages[piece.start].role == "system" or is_waiting(messages[piece.start], waiting)
    ]


def _by_priority(messages: Sequence[Message], pieces: Sequence[range], kept: Collection[int]) -> list[int]:
    """Return the other rounds in order of priority: a summary first, then newest to oldest."""
    others = [at for at in range(len(pieces) - 1, -1, -1) if at not in kept and messages[pieces[at].start] is not NOTE]
    return sorted(others, key=lambda at: not _is_summary(messages[pieces[at].start]))


def _is_summary(message: Message) -> bool:
    return message.origin == "compaction"


def _join(kept: dict[int, Sequence[Message]], pieces: int) -> list[Message]:
    joined: list[Message] = []
    gap = False
    for at in range(pieces):
        if at in kept:
            joined += kept[at]
        elif not gap:
            joined.append(NOTE)
            gap = True
    return joined


def _slice(messages: Sequence[Message], piece: range) -> Sequence[Message]:
    return messages[piece.start : piece.stop]


def _size(messages: Iterable[Message], count: Count) -> int:
    return sum(count(message) for message in messages)
