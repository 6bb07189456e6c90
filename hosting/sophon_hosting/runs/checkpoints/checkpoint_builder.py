"""Checkpoint builder: splits the state of a turn into a small part, which is replaced, and logs, which only grow."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass, new_dict, new_list
from sophon.context.message_list import MessageList
from sophon.context.state_serialization import MAX_SNAPSHOT_DEPTH, Snapshot
from sophon.messages import Message
from sophon_hosting.store.runs.contract import LogWrite

LONG_TEXT_CHARACTERS = 1000
"""Length from which a text of the state is written to the log of texts, once, instead of in each checkpoint."""

MESSAGE_REFERENCES = "logs"
"""Key of the message lists that were taken out: `[path, log, entries]` each, the turn's own first."""

TEXT_REFERENCES = "texts"
"""Key of the texts that were taken out: `[path, position in the log]` each."""

STORED = "stored"
"""Key of an entry that stands for messages of the session's history: `{"stored": [start, end]}`."""

TEXT_LOG = 0
"""Number of the log of texts; logs of messages have numbers from 1."""


@dataclass(slots=True, eq=False)
class MessageLog:
    """Bookkeeping of the log of one message list: for each entry that the store has, where in the list it ends.

    An entry is a message, or a range of the session's history.
    """

    number: int
    messages: MessageList
    ends: list[int] = field(default_factory=new_list)

    def take_new(self, history: Sequence[Message], recorded: int) -> LogWrite | None:
        """Return what the store lacks, which counts as written from now on; None if nothing has changed.

        `history` is the session's as it was loaded, `recorded` the number of leading messages that may be part of it.
        """
        before, kept = len(self.ends), bisect_right(self.ends, self.messages.unchanged)
        start = self.ends[kept - 1] if kept else 0
        del self.ends[kept:]
        self.messages.mark_unchanged()
        entries: list[Any] = []
        for entry, end in _iterate_entries(self.messages, start, history if start < recorded else ()):
            entries.append(entry)
            self.ends.append(end)
        return LogWrite(self.number, kept, entries) if entries or kept < before else None

    def forget_from(self, entry: int) -> None:
        """Count an entry and those after it as not written."""
        del self.ends[entry:]


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


@dataclass(frozen=True, slots=True)
class CheckpointWrite:
    """A checkpoint: the small part of the state, and what is to be written to its logs."""

    state: dict[str, Any]
    logs: Sequence[LogWrite]


class CheckpointBuilder:
    """Builds the checkpoints of one run, in the order in which they are stored.

    The run's turn and each unfinished step of its plan have a log of messages. What a store did not take is given back
    by `revert` before the next one is built.
    """

    def __init__(self, message_logs: Sequence[MessageLog] = (), text_log: TextLog | None = None) -> None:
        self._logs = {id(log.messages): log for log in message_logs}
        self._texts = text_log or TextLog()
        self._copies: dict[str, MessageList] = {}
        """By run id, the messages of the turns whose list a middleware has replaced by a plain one."""
        self._last_number = max((log.number for log in message_logs), default=TEXT_LOG)

    def build(self, snapshot: Snapshot, history: Sequence[Message] = ()) -> CheckpointWrite:
        """Return the checkpoint for a state. `history` is the session's, as the turn loaded it."""
        split = _Split(self, history)
        state = split.turn(snapshot, ())
        state[MESSAGE_REFERENCES], state[TEXT_REFERENCES] = split.message_references, split.text_references
        texts = self._texts.take_new()
        ended = [log for key, log in self._logs.items() if key not in split.logs]
        writes = [*split.writes, *([texts] if texts is not None else ()), *(LogWrite(log.number, 0) for log in ended)]
        self._logs = split.logs
        self._copies = {run_id: copy for run_id, copy in self._copies.items() if id(copy) in self._logs}
        return CheckpointWrite(state, writes)

    def revert(self, write: CheckpointWrite) -> None:
        """Count the last checkpoint as not written; the store may have taken it all the same."""
        starts = {each.log: each.start for each in write.logs}
        if TEXT_LOG in starts:
            self._texts.forget_from(starts[TEXT_LOG])
        for log in self._logs.values():
            if log.number in starts:
                log.forget_from(starts[log.number])

    def log_of(self, snapshot: Snapshot) -> MessageLog:
        """Return the log of a turn's messages, a new one if it has none."""
        messages = snapshot["messages"]
        if not isinstance(messages, MessageList):
            copy = self._copies.setdefault(snapshot["run_id"], MessageList())
            copy.assign(messages)
            messages = copy
        log = self._logs.get(id(messages))
        if log is None:
            self._last_number += 1
            log = MessageLog(self._last_number, messages)
        return log

    def add_text(self, text: str) -> int:
        """Return the position of a text in the log of texts."""
        return self._texts.add(text)


@dataclass(slots=True, eq=False)
class _Split:
    """One walk through a state, which takes the message lists and the long texts out of it."""

    builder: CheckpointBuilder
    history: Sequence[Message]
    logs: dict[int, MessageLog] = field(default_factory=new_dict)
    writes: list[LogWrite] = field(default_factory=new_list)
    message_references: list[list[Any]] = field(default_factory=new_list)
    text_references: list[list[Any]] = field(default_factory=new_list)

    def turn(self, turn: Snapshot, path: tuple[str | int, ...]) -> dict[str, Any]:
        log = self.builder.log_of(turn)
        self.logs[id(log.messages)] = log
        write = log.take_new(self.history, turn["recorded"])
        if write is not None:
            self.writes.append(write)
        self.message_references.append([list(path), log.number, len(log.ends)])
        rest = {
            name: self.value(turn[name], (*path, name)) for name in ("text", "compaction", "extensions") if name in turn
        }
        return {**turn, "messages": None, **rest}

    def value(self, value: Any, path: tuple[str | int, ...]) -> Any:
        if isinstance(value, Snapshot):
            return self.turn(value, path)
        if type(value) is str and len(value) >= LONG_TEXT_CHARACTERS:
            self.text_references.append([list(path), self.builder.add_text(value)])
            return None
        if len(path) >= MAX_SNAPSHOT_DEPTH:
            return value
        if type(value) is dict:
            items = cast(Mapping[Any, Any], value).items()
            # Another key comes back from JSON as a string, and the path would not find it.
            return {key: self.value(each, (*path, key)) if type(key) is str else each for key, each in items}
        if type(value) is list:
            return [self.value(each, (*path, index)) for index, each in enumerate(cast(Sequence[Any], value))]
        return value
