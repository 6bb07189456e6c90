"""What one model is shown of a turn's conversation, and its size, kept up to date instead of counted anew."""

from collections.abc import Sequence
from dataclasses import dataclass

from sophon.context import Context
from sophon.messages import Message
from sophon.models.tokens import TokenCounter
from sophon.stores.contracts import Compaction
from sophon_middlewares.outer.window.compaction import compacted, uncovered
from sophon_middlewares.outer.window.cuts import leading_systems

COUNTED = "context_window.tokens."
"""With the counter's name behind it: names, in `ctx.known`, the size of the stored messages."""


@dataclass(slots=True, eq=False)
class ContextView:
    """`opening` in place of all messages before `start`, then the messages from there on, whatever is appended.

    `total` is their size in tokens, uncalibrated, by the counter named `counter`. `compaction` is the one that the view
    was begun with. Following a conversation costs no more than what was appended.
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
        """Whether a list is the one that was followed so far, with or without more behind it."""
        seen = self.seen
        return 0 < seen <= len(messages) and messages[seen - 1] is self.last and messages[0] is self.first

    def follow(self, messages: Sequence[Message], tokens: TokenCounter) -> None:
        """Take account of what was appended."""
        length = len(messages)
        if length == self.seen:
            return
        for index in range(max(self.seen, self.start), length):
            self.total += tokens.message(messages[index])
        self.seen, self.first, self.last = length, messages[0], messages[-1]

    def of(self, messages: list[Message]) -> list[Message]:
        """The list that goes to the model."""
        return [*self.opening, *messages[self.start :]] if self.opening else messages


def begun_view(ctx: Context, messages: Sequence[Message], tokens: TokenCounter) -> ContextView:
    """A view that nothing has been left out of, but what the turn's compaction stands for."""
    compaction = ctx.compaction
    if compaction is None:
        return _whole_view(ctx, messages, tokens)
    start = uncovered(messages, ctx.messages, compaction.covers)
    opening = compacted(messages, start, compaction.summary)
    view = ContextView(tokens.name, compaction, opening, start, total=_size(opening, tokens))
    view.follow(messages, tokens)
    return view


def shortened_view(view: ContextView, kept: Sequence[Message], tokens: TokenCounter) -> ContextView:
    """The view that begins with `kept`, in place of all that was followed so far."""
    total = _size(kept, tokens)
    return ContextView(view.counter, view.compaction, kept, view.seen, total, view.seen, view.first, view.last)


def _whole_view(ctx: Context, messages: Sequence[Message], tokens: TokenCounter) -> ContextView:
    """A stored history is counted in the turn that adds to it, and not again in every later one."""
    view = ContextView(tokens.name)
    name = COUNTED + tokens.name
    front = leading_systems(messages)
    system = _size(messages[:front], tokens)
    stored, total = ctx.known.get(name, (0, 0))
    if stored and _same(messages, ctx.messages, front + stored - 1):
        view.total, view.seen = system + total, front + stored
    view.follow(messages, tokens)
    stored = ctx.stored
    if front + stored == len(messages) and _same(messages, ctx.messages, len(messages) - 1):
        ctx.known[name] = (stored, view.total - system)
    return view


def _same(messages: Sequence[Message], others: Sequence[Message], index: int) -> bool:
    return 0 <= index < len(messages) and index < len(others) and messages[index] is others[index]


def _size(messages: Sequence[Message], tokens: TokenCounter) -> int:
    return sum(map(tokens.message, messages))
