"""Logs of a checkpoint: what the store has of a turn's messages and long texts, so that each is written once."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from sophon.context.message_list import MessageList
from sophon.messages import Message
from sophon.stores.runs.contract import LogWrite

STORED = "stored"
"""Key of an entry that stands for messages of the session's history: `{"stored": [start, end]}`."""

TEXT_LOG = 0
"""Number of the log of texts; logs of messages have numbers from 1."""


class MessageLog:
    """Bookkeeping of the log of one message list: for each entry that the store has, where in the list it ends.

    An entry is a message, or a range of the session's history.
    """

    __slots__ = ("_ends", "messages", "number")

    def __init__(self, number: int, messages: MessageList, ends: Sequence[int] = ()) -> None:
        self.number, self.messages = number, messages
        self._ends = list(ends)

    def __len__(self) -> int:
        return len(self._ends)

    def take_new(self, history: Sequence[Message], recorded: int) -> LogWrite | None:
        """Return what the store lacks, which counts as written from now on; None if nothing has changed.

        `history` is the session's as it was loaded, `recorded` the number of leading messages that may be part of it.
        """
        before, kept = len(self._ends), bisect_right(self._ends, self.messages.unchanged)
        start = self._ends[kept - 1] if kept else 0
        del self._ends[kept:]
        self.messages.mark_unchanged()
        entries: list[Any] = []
        for entry, end in _iterate_entries(self.messages, start, history if start < recorded else ()):
            entries.append(entry)
            self._ends.append(end)
        return LogWrite(self.number, kept, entries) if entries or kept < before else None

    def forget_from(self, entry: int) -> None:
        """Count an entry and those after it as not written."""
        del self._ends[entry:]


class TextLog:
    """Bookkeeping of the log of long texts: the position of each text that the store has."""

    __slots__ = ("_positions", "_start")

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._positions = {text: position for position, text in enumerate(texts)}
        self._start = len(texts)

    def add(self, text: str) -> int:
        """Return the position of a text, which is added unless the log has it."""
        # A string keeps its hash, so that looking up a known one does not read it again.
        return self._positions.setdefault(text, len(self._positions))

    def take_new(self) -> LogWrite | None:
        """Return the texts that were added since the last call, which count as written from now on; None for none."""
        start, self._start = self._start, len(self._positions)
        if start == self._start:
            return None
        return LogWrite(TEXT_LOG, start, list(self._positions)[start:])

    def forget_from(self, position: int) -> None:
        """Count the texts from a position on as not written."""
        self._positions = dict(list(self._positions.items())[:position])
        # Of two checkpoints that were refused together, the second begins behind what the first left.
        self._start = min(self._start, position, len(self._positions))


def _iterate_entries(
    messages: Sequence[Message], start: int, history: Sequence[Message]
) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the entries for the messages from `start` on, each with the index at which it ends."""
    positions = {id(message): position for position, message in enumerate(history)}
    new = messages[start:]
    index = 0
    while index < len(new):
        first, end = positions.get(id(new[index])), index + 1
        if first is None:
            yield new[index].to_json(), start + end
        else:
            while end < len(new) and positions.get(id(new[end])) == first + end - index:
                end += 1
            yield {STORED: [first, first + end - index]}, start + end
        index = end
