"""Checkpoint reader: puts the state of a turn together from its small part, its logs and the session's history."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.context.message_list import MessageList
from sophon.context.state_serialization import Snapshot, message_from_json, messages_from_json
from sophon.errors import StateError
from sophon.messages import Message
from sophon_hosting.runs.checkpoint_builder import MESSAGE_REFERENCES, TEXT_REFERENCES, CheckpointBuilder
from sophon_hosting.runs.checkpoint_logs import STORED, TEXT_LOG, MessageLog, TextLog

Logs: TypeAlias = Mapping[int, Sequence[Any]]
"""Entries of the logs of a run, by the log's number."""


@dataclass(frozen=True, slots=True)
class LoadedCheckpoint:
    """State from a checkpoint, for `services.restore`; the builder of the checkpoints that follow it; the history."""

    state: Mapping[str, Any]
    builder: CheckpointBuilder
    history: Sequence[Message] = ()

    @property
    def messages(self) -> list[Message]:
        """The messages of the turn."""
        return messages_from_json(self.state["messages"])


def refers_to_history(logs: Logs) -> bool:
    """Return whether an entry stands for messages of the session's history."""
    return any(STORED in entry for number, log in logs.items() if number != TEXT_LOG for entry in log)


def read_checkpoint(checkpoint: Mapping[str, Any], logs: Logs, history: Sequence[Message]) -> LoadedCheckpoint:
    """Return the state. Raises StateError for a log or a history that lacks what the checkpoint refers to."""
    # The message lists of the state are those whose logs the builder knows: the restored turn works on them.
    root: dict[str, Any] = {"state": deepcopy(dict(checkpoint))}
    texts = logs.get(TEXT_LOG, ())
    message_logs: list[MessageLog] = []
    try:
        for path, number, count in root["state"].pop(MESSAGE_REFERENCES):
            log = _read_log(number, logs.get(number, ())[:count], count, history)
            message_logs.append(log)
            holder, key = _find_place(root, path)
            holder[key] = Snapshot({**holder[key], "messages": log.messages})
        for path, position in root["state"].pop(TEXT_REFERENCES):
            holder, key = _find_place(root, path)
            holder[key] = texts[position]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"the checkpoint cannot be read: {type(error).__name__}: {error}") from error
    return LoadedCheckpoint(root["state"], CheckpointBuilder(message_logs, TextLog(texts)), history)


def _read_log(number: int, entries: Sequence[Any], count: int, history: Sequence[Message]) -> MessageLog:
    if len(entries) < count:
        raise StateError(f"the checkpoint refers to {count} entries of a log that has {len(entries)}")
    messages, ends = MessageList(), list[int]()
    for entry in entries:
        if STORED in entry:
            start, end = entry[STORED]
            if end > len(history):
                raise StateError(f"the checkpoint refers to {end} stored messages; the session has {len(history)}")
            messages += history[start:end]
        else:
            messages.append(message_from_json(entry))
        ends.append(len(messages))
    messages.mark_unchanged()
    return MessageLog(number, messages, ends)


def _find_place(root: dict[str, Any], path: Sequence[str | int]) -> tuple[Any, Any]:
    """Return the object that holds a value of the state, and the value's key in it."""
    holder: Any = root
    *parents, key = ("state", *path)
    for parent in parents:
        holder = holder[parent]
    return holder, key
