"""Makes a conversation fit without asking anybody: the oldest rounds go, and results that are too large are cut."""

from collections.abc import Callable, Collection, Iterable, Sequence

from sophon.messages import Message
from sophon.tools.truncation import truncate
from sophon_middlewares.outer.window.cuts import is_waiting, last_user, rounds

NOTE = Message("user", "[Older messages are left out here: they no longer fit the model's window]", origin="hint")
"""Stands in the first gap, so that the model knows of it."""

RESULT_SHARE = 4
"""A tool result larger than one fourth of what all messages may be is cut, in whatever round."""

RESULT_FLOOR = 200
"""Characters that are left of a tool result at least."""

Count = Callable[[Message], int]


def smallest(messages: Sequence[Message], count: Count, waiting: Collection[str] = ()) -> int:
    """Tokens of what is never left out: system messages, the last user message, rounds with a call in `waiting`."""
    pieces = rounds(messages)
    return sum(_size(_of(messages, pieces[at]), count) for at in _essential(messages, pieces, waiting))


def fitted(
    messages: Sequence[Message], target: int, most: int, *, count: Count, waiting: Collection[str] = ()
) -> list[Message]:
    """A conversation of at most `target` tokens, of whole rounds, the newest ones; NOTE tells of a gap.

    Never left out: see `smallest`. The newest round stays where it fits `most` with its tool results cut, so that a
    model sees what it has just asked for. A summary goes only when there is no room for anything else.
    """
    pieces = rounds(messages)
    target, most = target - count(NOTE), most - count(NOTE)
    kept = {at: _of(messages, pieces[at]) for at in _essential(messages, pieces, waiting)}
    used = sum(_size(piece, count) for piece in kept.values())
    newest = len(pieces) - 1
    if newest not in kept:
        piece = shortened(_of(messages, pieces[newest]), target - used, count)
        if used + (size := _size(piece, count)) <= most:
            kept[newest], used = piece, used + size
    for at in _by_worth(messages, pieces, kept):
        piece = shortened(_of(messages, pieces[at]), target - used, count, each=target // RESULT_SHARE)
        if used + (size := _size(piece, count)) <= target:
            kept[at], used = piece, used + size
        elif not _is_summary(messages[pieces[at].start]):
            break
    return _joined(kept, len(pieces))


def shortened(piece: Sequence[Message], room: int, count: Count, *, each: int | None = None) -> Sequence[Message]:
    """A round with its largest tool results cut so that it has at most `room` tokens, or as near as that comes.

    `each` is the most that any one result may have; with it, only results beyond it are cut.
    """
    results = [count(message) for message in piece if message.role == "tool"]
    rest = _size(piece, count) - sum(results)
    cap = each if each is not None else level(results, room - rest)
    if not results or max(results) <= cap:
        return piece
    return [_cut(message, cap, count) if message.role == "tool" else message for message in piece]


def level(sizes: Sequence[int], room: int) -> int:
    """The largest cap at which the sizes, each cut to it, sum up to no more than `room`."""
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


def _essential(messages: Sequence[Message], pieces: Sequence[range], waiting: Collection[str]) -> list[int]:
    spoken = last_user(messages)
    return [
        at
        for at, piece in enumerate(pieces)
        if piece.start == spoken or messages[piece.start].role == "system" or is_waiting(messages[piece.start], waiting)
    ]


def _by_worth(messages: Sequence[Message], pieces: Sequence[range], kept: Collection[int]) -> list[int]:
    """The other rounds: a summary first, then the newest before the older."""
    others = [at for at in range(len(pieces) - 1, -1, -1) if at not in kept and messages[pieces[at].start] is not NOTE]
    return sorted(others, key=lambda at: not _is_summary(messages[pieces[at].start]))


def _is_summary(message: Message) -> bool:
    return message.origin == "compaction"


def _joined(kept: dict[int, Sequence[Message]], pieces: int) -> list[Message]:
    joined: list[Message] = []
    gap = False
    for at in range(pieces):
        if at in kept:
            joined += kept[at]
        elif not gap:
            joined.append(NOTE)
            gap = True
    return joined


def _of(messages: Sequence[Message], piece: range) -> Sequence[Message]:
    return messages[piece.start : piece.stop]


def _size(messages: Iterable[Message], count: Count) -> int:
    return sum(count(message) for message in messages)
