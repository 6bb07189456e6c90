"""One model's view of a turn's conversation, with an incrementally updated token count."""

from collections.abc import Sequence
from dataclasses import dataclass

from sophon.context import Context
from sophon.messages import Message
from sophon.models.tokens import TokenCounter
from sophon.stores.contracts import Compaction
from sophon_middlewares.outer.window.compaction import compacted, uncovered
from sophon_middlewares.outer.window.cuts import leading_systems

COUNTED = "context_window.tokens."
"""Prefix, followed by the counter's name, of the keys in `ctx.known` that hold the token count of stored messages."""


@dataclass(slots=True, eq=False)
class ContextView:
    """Prefix `opening` in place of all messages before `start`, then the messages from there on.

    `total` is their size in tokens, uncalibrated, by the counter named `counter`. `compaction` is the one that the view
    was created with. An update costs no more than the messages that were appended.
    """

    counter: str
    compaction: Compaction | None = None
    opening: Sequence[Message] = ()
    start: int = 0
    total: int = 0
    seen: int = 0
    first: Message | None = None
    last: Message | None = None

    def continues(self, messages: Sequence[Message]) -> bool:
        """Return whether a list is the counted one, possibly with messages appended."""
        seen = self.seen
        return 0 < seen <= len(messages) and messages[seen - 1] is self.last and messages[0] is self.first

    def follow(self, messages: Sequence[Message], tokens: TokenCounter) -> None:
        """Count the messages that were appended."""
        length = len(messages)
        if length == self.seen:
            return
        for index in range(max(self.seen, self.start), length):
            self.total += tokens.message(messages[index])
        self.seen, self.first, self.last = length, messages[0], messages[-1]

    def of(self, messages: list[Message]) -> list[Message]:
        """Return the messages that are sent to the model."""
        return [*self.opening, *messages[self.start :]] if self.opening else messages


def begun_view(ctx: Context, messages: Sequence[Message], tokens: TokenCounter) -> ContextView:
    """Return a view without omissions, except for what the turn's compaction covers."""
    compaction = ctx.compaction
    if compaction is None:
        return _create_full_view(ctx, messages, tokens)
    start = uncovered(messages, ctx.messages, compaction.covers)
    opening = compacted(messages, start, compaction.summary)
    view = ContextView(tokens.name, compaction, opening, start, total=_size(opening, tokens))
    view.follow(messages, tokens)
    return view


def shortened_view(view: ContextView, kept: Sequence[Message], tokens: TokenCounter) -> ContextView:
    """Return the view that begins with `kept`, in place of everything counted so far."""
    total = _size(kept, tokens)
    return ContextView(view.counter, view.compaction, kept, view.seen, total, view.seen, view.first, view.last)


def _create_full_view(ctx: Context, messages: Sequence[Message], tokens: TokenCounter) -> ContextView:
    """Create a view of all messages; the stored history's token count is cached for later turns."""
    view = ContextView(tokens.name)
    name = COUNTED + tokens.name
    front = leading_systems(messages)
    system = _size(messages[:front], tokens)
    stored, total = ctx.known.get(name, (0, 0))
    if stored and _is_same(messages, ctx.messages, front + stored - 1):
        view.total, view.seen = system + total, front + stored
    view.follow(messages, tokens)
    stored = ctx.stored
    if front + stored == len(messages) and _is_same(messages, ctx.messages, len(messages) - 1):
        ctx.known[name] = (stored, view.total - system)
    return view


def _is_same(messages: Sequence[Message], others: Sequence[Message], index: int) -> bool:
    return 0 <= index < len(messages) and index < len(others) and messages[index] is others[index]


def _size(messages: Sequence[Message], tokens: TokenCounter) -> int:
    return sum(map(tokens.message, messages))
