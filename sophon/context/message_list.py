"""Message list of a turn, which tells what of it is unchanged: a checkpoint then writes only what is new."""

from operator import index
from typing import Any, Self, SupportsIndex

from sophon.errors import ChainError
from sophon.messages import ROLES, Message


def check_message(message: object) -> None:
    """Raise ChainError for what a middleware has put among the messages and no provider takes."""
    if not isinstance(message, Message):
        shown = f"{message!r:.60}"
    elif message.role not in ROLES or not isinstance(message.content, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        shown = f"Message({message.role!r:.40}, {message.content!r:.40})"
    else:
        return
    raise ChainError(f"{shown} among ctx.messages: write Message(role, text), with the role {', '.join(ROLES)}")


class MessageList(list[Message]):
    """List of messages that counts its leading messages that are unchanged since `mark_unchanged`.

    Appending costs what it costs in a list. `unchanged` is 0 until the first mark.
    """

    # Of the class until the first mark: a list is made as fast as a plain one, and most are never marked.
    unchanged: int = 0

    def mark_unchanged(self) -> None:
        """Count all messages as unchanged from now on."""
        self.unchanged = len(self)

    def assign(self, messages: list[Message]) -> None:
        """Make the content that of another list; the leading messages that are the same objects are not changed."""
        same = 0
        for mine, other in zip(self, messages, strict=False):
            if mine is not other:
                break
            same += 1
        self[same:] = messages[same:]

    def __setitem__(self, key: Any, value: Any, /) -> None:
        if self.unchanged:
            self._note_change(self._first_index(key))
        super().__setitem__(key, value)

    def __delitem__(self, key: SupportsIndex | slice, /) -> None:
        if self.unchanged:
            self._note_change(self._first_index(key))
        super().__delitem__(key)

    def __imul__(self, count: SupportsIndex, /) -> Self:
        self._note_change(0)
        return super().__imul__(count)

    def insert(self, position: SupportsIndex, message: Message, /) -> None:
        """See `list.insert`. Raises ChainError for what is no message."""
        check_message(message)
        self._note_change(slice(position, None).indices(len(self))[0])
        super().insert(position, message)

    def pop(self, position: SupportsIndex = -1, /) -> Message:
        """See `list.pop`."""
        if self.unchanged:
            self._note_change(self._first_index(position))
        return super().pop(position)

    def remove(self, message: Message, /) -> None:
        """See `list.remove`."""
        del self[self.index(message)]

    def clear(self) -> None:
        """See `list.clear`."""
        self._note_change(0)
        super().clear()

    def sort(self, **options: Any) -> None:
        """See `list.sort`."""
        self._note_change(0)
        super().sort(**options)

    def reverse(self) -> None:
        """See `list.reverse`."""
        self._note_change(0)
        super().reverse()

    def _note_change(self, first: int) -> None:
        if first < self.unchanged:
            self.unchanged = first

    def _first_index(self, key: SupportsIndex | slice) -> int:
        """Return the first index that an assignment or deletion changes."""
        if not isinstance(key, slice):
            position = index(key)
            return max(0, position + len(self) if position < 0 else position)
        start, _, _ = key.indices(len(self))
        changed = range(*key.indices(len(self)))
        return min(changed[0], changed[-1]) if changed else max(0, start)
