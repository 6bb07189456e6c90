"""Truncation of a conversation without a model: drops the oldest rounds and truncates large tool results."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from sophon.messages import Message
from sophon.tools.result_limit import limit_result
from sophon_middlewares.outer.context_window.conversation_cut_points import (
    find_last_user_message,
    has_pending_call,
    split_rounds,
)

GAP_NOTE = Message(
    "user",
    "[Older messages are left out here, without a summary: they no longer fit the model's window]",
    origin="hint",
)
"""Inserted at the first gap, so that the model knows of the omission."""

RESULT_DIVISOR = 4
"""Tool results larger than one fourth of the target size are truncated, in every round."""

MIN_RESULT_CHARACTERS = 200
"""Minimum characters kept of a tool result."""

MIN_FIRST_CHARACTERS = 100
"""Characters that are kept of the pinned first message at least, where the budget has room for them."""

CountTokens = Callable[[Message], int]


def minimum_tokens(messages: Sequence[Message], count: CountTokens, pending_ids: Collection[str] = ()) -> int:
    """Return the tokens of what is never dropped: system messages, last user message, rounds with a call in
    `pending_ids`.
    """
    pieces = split_rounds(messages)
    return sum(_size(slice_round(messages, pieces[at]), count) for at in required_rounds(messages, pieces, pending_ids))


def truncate_conversation(
    messages: Sequence[Message],
    target_tokens: int,
    max_tokens: int,
    *,
    count: CountTokens,
    pending_ids: Collection[str] = (),
) -> list[Message]:
    """Return at most `target_tokens` tokens of whole rounds, newest first; NOTE marks a gap.

    Never dropped: see `minimum_tokens`. The newest round is kept if it fits `max_tokens` with its tool results
    truncated, so that the model sees what it has just requested. A summary is dropped only if nothing else is left to
    drop.
    """
    pieces = split_rounds(messages)
    target_tokens, max_tokens = target_tokens - count(GAP_NOTE), max_tokens - count(GAP_NOTE)
    kept = {at: slice_round(messages, pieces[at]) for at in required_rounds(messages, pieces, pending_ids)}
    used = sum(_size(piece, count) for piece in kept.values())
    newest = len(pieces) - 1
    if newest not in kept:
        # Its results do not displace the summary, which stands for all that was dropped before, and the first message.
        first = find_first_round(messages, pieces, [*kept, newest])
        opening = [each for each in messages if is_summary(each)]
        opening += [] if first is None else slice_round(messages, pieces[first])
        room = target_tokens - used - _size(opening, count)
        piece = slice_round(messages, pieces[newest])
        piece = truncate_tool_results(piece, room if room > 0 else target_tokens - used, count)
        if used + (size := _size(piece, count)) <= max_tokens:
            kept[newest], used = piece, used + size
    first = find_first_round(messages, pieces, kept)
    for at in _by_priority(messages, pieces, set(kept), first):
        if at == first:
            left = min(target_tokens - used, target_tokens // RESULT_DIVISOR)
            piece = cut_first_round(slice_round(messages, pieces[at]), left, count)
            if (size := _size(piece, count)) <= left:
                kept[at], used = piece, used + size
            continue
        piece = truncate_tool_results(
            slice_round(messages, pieces[at]),
            target_tokens - used,
            count,
            max_result_tokens=target_tokens // RESULT_DIVISOR,
        )
        if used + (size := _size(piece, count)) <= target_tokens:
            kept[at], used = piece, used + size
        elif not is_summary(messages[pieces[at].start]):
            break
    return join_rounds(kept, len(pieces))


def truncate_tool_results(
    piece: Sequence[Message], max_tokens: int, count: CountTokens, *, max_result_tokens: int | None = None
) -> Sequence[Message]:
    """Return a round with its largest tool results truncated to at most `max_tokens` tokens, or as near as possible.

    With `max_result_tokens`, only results of more than `max_result_tokens` tokens are truncated, to that size.
    """
    results = [count(message) for message in piece if message.role == "tool"]
    rest = _size(piece, count) - sum(results)
    cap = max_result_tokens if max_result_tokens is not None else find_common_cap(results, max_tokens - rest)
    if not results or max(results) <= cap:
        return piece
    return [_cut(message, cap, count) if message.role == "tool" else message for message in piece]


def find_common_cap(sizes: Sequence[int], max_total: int) -> int:
    """Return the largest cap at which the sizes, each limited to it, sum up to at most `max_total`."""
    left = max_total
    for position, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - position)
        if size > share:
            return max(share, 0)
        left -= size
    return max(sizes, default=0)


def _cut(result: Message, cap: int, count: CountTokens) -> Message:
    size = count(result)
    if size <= cap or len(result.content) <= MIN_RESULT_CHARACTERS:
        return result
    limit = max(MIN_RESULT_CHARACTERS, len(result.content) * cap // size)
    while True:
        cut = Message(
            "tool", limit_result(result.content, limit), tool_call_id=result.tool_call_id, origin=result.origin
        )
        if limit == MIN_RESULT_CHARACTERS or count(cut) <= cap:
            return cut
        limit = max(MIN_RESULT_CHARACTERS, limit * 3 // 4)


def required_rounds(messages: Sequence[Message], pieces: Sequence[range], waiting: Collection[str]) -> list[int]:
    """Return the positions of the rounds that are never dropped; see `minimum_tokens`."""
    spoken = find_last_user_message(messages)
    return [
        at
        for at, piece in enumerate(pieces)
        if piece.start == spoken
        or messages[piece.start].role == "system"
        or has_pending_call(messages[piece.start], waiting)
    ]


def find_first_round(messages: Sequence[Message], pieces: Sequence[range], kept: Collection[int]) -> int | None:
    """Return the position of the first message of the conversation, which is pinned; None if it is kept anyway, or no
    person wrote it.
    """
    for at, piece in enumerate(pieces):
        first = messages[piece.start]
        if first.role != "system":
            return at if at not in kept and first.role == "user" and not first.origin else None
    return None


def cut_first_round(piece: Sequence[Message], max_tokens: int, count: CountTokens) -> Sequence[Message]:
    """Return the pinned first round, a message of text cut to `max_tokens` if possible."""
    if len(piece) > 1 or piece[0].tool_calls:
        return truncate_tool_results(piece, max_tokens, count)
    message, limit = piece[0], len(piece[0].content)
    while count(message) > max_tokens and limit > MIN_FIRST_CHARACTERS:
        limit = max(limit * 3 // 4, MIN_FIRST_CHARACTERS)
        message = Message(message.role, limit_result(piece[0].content, limit), origin=message.origin)
    return [message]


def _by_priority(
    messages: Sequence[Message], pieces: Sequence[range], kept: Collection[int], pinned: int | None
) -> Iterator[int]:
    """Yield the other rounds in order of priority: a summary, the pinned first message, then newest to oldest."""
    summaries = [at for at in range(len(pieces) - 1, -1, -1) if is_summary(messages[pieces[at].start])]
    yield from (at for at in summaries if at not in kept)
    if pinned is not None:
        yield pinned
    for at in range(len(pieces) - 1, -1, -1):  # the caller stops at the first that does not fit
        first = messages[pieces[at].start]
        if at not in kept and at != pinned and first is not GAP_NOTE and not is_summary(first):
            yield at


def is_summary(message: Message) -> bool:
    """Return whether a message is the summary of older ones."""
    return message.origin == "compaction"


def join_rounds(kept: dict[int, Sequence[Message]], pieces: int) -> list[Message]:
    """Return the messages of the rounds in order, with the note at the first gap."""
    joined: list[Message] = []
    gap, following = False, 0
    for at in [*sorted(kept), pieces]:
        if at > following and not gap:
            joined.append(GAP_NOTE)
            gap = True
        joined += kept.get(at, ())
        following = at + 1
    return joined


def slice_round(messages: Sequence[Message], piece: range) -> Sequence[Message]:
    """Return the messages of a round."""
    return messages[piece.start : piece.stop]


def _size(messages: Iterable[Message], count: CountTokens) -> int:
    return sum(count(message) for message in messages)
