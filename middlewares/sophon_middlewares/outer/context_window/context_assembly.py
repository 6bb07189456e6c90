"""Assembly of a context within a budget of tokens, without a model: without its middle, or what is unlike the question.

The first message of the conversation is pinned, and the newest round; of the rest whole rounds are kept, so that no
tool call loses its result. Source: clawft. Its page pins the first message, its code the last one too,
which is the question of the turn and never dropped here. A pinned first message that is too large is cut, where theirs
exceeds the budget.
"""

from collections.abc import Collection, Mapping, Sequence

from sophon.messages import Message
from sophon_middlewares.outer.context_window.conversation_cut_points import split_rounds
from sophon_middlewares.outer.context_window.conversation_truncation import (
    GAP_NOTE,
    CountTokens,
    cut_first_round,
    join_rounds,
    required_rounds,
    slice_round,
    truncate_tool_results,
)


def drop_middle(
    messages: Sequence[Message],
    target_tokens: int,
    max_tokens: int,
    *,
    count: CountTokens,
    pending_ids: Collection[str] = (),
) -> list[Message]:
    """Return the first message, and from the newest round backwards all that fit `target_tokens`, without the middle.

    Never dropped: see `minimum_tokens`; only if these alone take more than the target is the result larger, and then
    nothing else is kept. `max_tokens` is the size for which the window has room.
    """
    return _assemble(messages, min(target_tokens, max_tokens), count, pending_ids, None)


def keep_relevant(
    messages: Sequence[Message],
    target_tokens: int,
    max_tokens: int,
    *,
    count: CountTokens,
    similarities: Mapping[int, float],
    pending_ids: Collection[str] = (),
) -> list[Message]:
    """Return the first message, the newest round, and of the others those most similar to the question, in their order.

    `similarities` are those of the rounds by the index of their first message; a round without one counts as 0. Limits
    as for `drop_middle`.
    """
    return _assemble(messages, min(target_tokens, max_tokens), count, pending_ids, similarities)


def list_round_texts(messages: Sequence[Message]) -> dict[int, str]:
    """Return the text of each round but system messages and notes, by the index of its first message."""
    pieces = split_rounds(messages)
    return {
        piece.start: "\n".join(message.content for message in slice_round(messages, piece))
        for piece in pieces
        if messages[piece.start].role != "system" and messages[piece.start] is not GAP_NOTE
    }


def _assemble(
    messages: Sequence[Message],
    budget: int,
    count: CountTokens,
    pending_ids: Collection[str],
    similarities: Mapping[int, float] | None,
) -> list[Message]:
    pieces = split_rounds(messages)
    kept = {at: slice_round(messages, pieces[at]) for at in required_rounds(messages, pieces, pending_ids)}

    def size(piece: Sequence[Message]) -> int:
        return sum(map(count, piece))

    left = budget - count(GAP_NOTE) - sum(map(size, kept.values()))
    others = [at for at in range(len(pieces)) if at not in kept and messages[pieces[at].start] is not GAP_NOTE]
    for pinned, shorten in ((len(pieces) - 1, truncate_tool_results), (others[0] if others else -1, cut_first_round)):
        if pinned in others:
            piece = shorten(slice_round(messages, pieces[pinned]), left, count)
            if size(piece) <= left:
                kept[pinned], left = piece, left - size(piece)
            others.remove(pinned)
    others.reverse()
    if similarities is not None:
        others.sort(key=lambda at: -similarities.get(pieces[at].start, 0.0))  # the newest first among equals
    for at in others:
        piece = slice_round(messages, pieces[at])
        if size(piece) <= left:
            kept[at], left = piece, left - size(piece)
        elif similarities is None:
            break
    return join_rounds(kept, len(pieces))
