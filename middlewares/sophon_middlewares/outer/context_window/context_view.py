"""One model's view of a turn's conversation, with an incrementally updated token count."""

from collections.abc import Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.messages import Compaction, Message
from sophon.models.token_counter import TokenCounter
from sophon_middlewares.outer.context_window.compaction_mapping import build_compacted_prefix, first_uncovered_index
from sophon_middlewares.outer.context_window.conversation_cut_points import count_leading_system_messages
from sophon_middlewares.outer.context_window.stale_tool_results import StaleResults

CACHED_COUNT_PREFIX = "context_window.tokens."
"""Prefix, followed by the counter's name, of the keys in `ctx.prefix_cache` that hold the token count of stored
messages.
"""


@dataclass(slots=True, eq=False)
class ContextView:
    """Prefix `prefix` in place of all messages before `start`, then the messages from there on.

    `total_tokens` is their size in tokens, uncalibrated, by the counter named `counter`. `compaction` is the one that
    the view was created with. An update costs no more than the messages that were appended.
    """

    counter: str
    compaction: Compaction | None = None
    prefix: Sequence[Message] = ()
    start: int = 0
    total_tokens: int = 0
    counted: int = 0
    first_message: Message | None = None
    last_message: Message | None = None

    def is_continued_by(self, messages: Sequence[Message]) -> bool:
        """Return whether a list is the counted one, possibly with messages appended."""
        seen = self.counted
        return (
            0 < seen <= len(messages) and messages[seen - 1] is self.last_message and messages[0] is self.first_message
        )

    def count_appended(self, messages: Sequence[Message], tokens: TokenCounter) -> None:
        """Count the messages that were appended."""
        length = len(messages)
        if length == self.counted:
            return
        for index in range(max(self.counted, self.start), length):
            self.total_tokens += tokens.count_message(messages[index])
        self.counted, self.first_message, self.last_message = length, messages[0], messages[-1]

    def visible_messages(self, messages: list[Message]) -> list[Message]:
        """Return the messages that are sent to the model."""
        return [*self.prefix, *messages[self.start :]] if self.prefix else messages


def create_view(
    ctx: Context, messages: Sequence[Message], tokens: TokenCounter, stale: StaleResults | None = None
) -> ContextView:
    """Return a view without omissions, except for what the turn's compaction covers. `stale`: what was replaced in
    `messages`.
    """
    if ctx.compaction is not None:
        return _create_compacted_view(ctx, messages, tokens, ctx.compaction)
    # The token count of the stored history is cached for later turns, as it is stored.
    view = ContextView(tokens.name)
    name = CACHED_COUNT_PREFIX + tokens.name
    front = count_leading_system_messages(messages) if messages and messages[0].role == "system" else 0
    system = _size(messages[:front], tokens) if front else 0
    replaced, saved = stale.count_saved(tokens.name) if stale is not None else (0, 0)
    if ctx.prefix_cache and saved is not None:
        stored, total = ctx.prefix_cache.get(name, (0, 0))
        if stored and front + stored >= replaced and _is_same(messages, ctx.messages, front + stored - 1):
            view.total_tokens, view.counted = system + total - saved, front + stored
    view.count_appended(messages, tokens)
    stored = ctx.stored_count
    if saved is not None and front + stored == len(messages) and _is_same(messages, ctx.messages, len(messages) - 1):
        ctx.prefix_cache[name] = (stored, view.total_tokens - system + saved)
    return view


def _create_compacted_view(
    ctx: Context, messages: Sequence[Message], tokens: TokenCounter, compaction: Compaction
) -> ContextView:
    start = first_uncovered_index(messages, ctx.messages, compaction.covers)
    opening = build_compacted_prefix(messages, start, compaction.summary)
    view = ContextView(tokens.name, compaction, opening, start, total_tokens=_size(opening, tokens))
    view.count_appended(messages, tokens)
    return view


def create_truncated_view(view: ContextView, prefix: Sequence[Message], tokens: TokenCounter) -> ContextView:
    """Return the view that begins with `prefix`, in place of everything counted so far."""
    total = _size(prefix, tokens)
    return ContextView(
        view.counter, view.compaction, prefix, view.counted, total, view.counted, view.first_message, view.last_message
    )


def _is_same(messages: Sequence[Message], others: Sequence[Message], index: int) -> bool:
    return 0 <= index < len(messages) and index < len(others) and messages[index] is others[index]


def _size(messages: Sequence[Message], tokens: TokenCounter) -> int:
    return sum(map(tokens.count_message, messages))
