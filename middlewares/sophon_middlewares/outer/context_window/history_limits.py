"""Limits on the history in a request: the newest messages of earlier turns, by number and by tokens.

Source: ClawDesk, stage HistorySanitize, which keeps 50 messages and 8,000 tokens.
"""

from collections.abc import Callable, Sequence

from sophon.messages import Message
from sophon_middlewares.outer.context_window.compaction_mapping import pin_first_message
from sophon_middlewares.outer.context_window.conversation_cut_points import (
    count_leading_system_messages,
    find_last_user_message,
)
from sophon_middlewares.outer.context_window.conversation_truncation import GAP_NOTE, is_summary


def limit_history(
    shown: Sequence[Message], max_messages: int | None, max_tokens: int | None, count: Callable[[Message], int]
) -> list[Message] | None:
    """Return the messages with the newest of earlier turns that are within both limits; None if all of them are.

    What was before them becomes a note. System prompt, summary and the present turn stay and do not count; the pinned
    first message counts, and stays if it leaves room for others. No tool call is separated from its results. Order is
    kept. The work is bounded by the limits.
    """
    front, present = count_leading_system_messages(shown), find_last_user_message(shown)
    present = len(shown) if present is None else present
    pinned = pin_first_message(shown, present)
    opening = front + len(pinned)
    summary = [shown[opening]] if opening < present and is_summary(shown[opening]) else []
    opening += len(summary)
    number, tokens = len(pinned), sum(map(count, pinned))
    if (max_messages is not None and 2 * number > max_messages) or (max_tokens is not None and 2 * tokens > max_tokens):
        pinned, number, tokens, opening, summary = [], 0, 0, front, []
    start = cut = present
    while start > opening:
        start, number = start - 1, number + 1
        tokens += count(shown[start])
        if (max_messages is not None and number > max_messages) or (max_tokens is not None and tokens > max_tokens):
            return [*shown[:front], *pinned, *summary, GAP_NOTE, *shown[cut:]]
        if shown[start].role != "tool":
            cut = start
    return None
