"""Results of the queue: statistics, and the dead letters of tasks and of messages to chats."""

from typing import Literal

from sophon._python.lazy_typed_dict import TypedDict
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.features.iso_time import to_iso
from sophon_hosting.queue.contract import DeadLetter, QueueStatistics


class QueueState(TypedDict):
    """Statistics of the whole queue; `paused` is of this process."""

    waiting: int
    reserved: int
    in_flight: int
    held_lanes: int
    dead: int
    capacity: int
    paused: bool
    delivered_total: int
    oldest_waiting_seconds: float


class QueueOverview(QueueState):
    """Statistics of the queue, and the number of messages to chats that were not delivered."""

    undelivered: int


class StoredQueue(TypedDict):
    """Tasks of a store that no host works on; `interrupted` are those that a host was running when it ended."""

    waiting: int
    in_flight: int
    interrupted: int
    held_lanes: int
    capacity: int


class DrainedQueue(QueueState):
    """Statistics of the queue after a drain; `drained` is false if the queue was resumed in the meantime."""

    drained: bool


class DeadTask(TypedDict):
    """A task that was delivered too often."""

    kind: Literal["task"]
    id: str
    task_id: str
    session_id: str
    deliveries: int
    died_at: str


class UndeliveredMessage(TypedDict):
    """A message to a chat that could not be delivered."""

    kind: Literal["message"]
    id: str
    task_id: str | None
    channel: str
    chat: str
    attempts: int
    may_have_arrived: bool
    error: str
    created_at: str | None


class DeadLetterList(TypedDict):
    """The dead letters, oldest first: tasks, then messages to chats."""

    items: list[DeadTask | UndeliveredMessage]


class RetriedLetter(TypedDict):
    """The task or the message that was enqueued again; a task has a new id."""

    task_id: str


def queue_statistics_to_json(statistics: QueueStatistics) -> QueueState:
    """Return the queue statistics as JSON."""
    return {
        "waiting": statistics.waiting,
        "reserved": statistics.reserved,
        "in_flight": statistics.in_flight,
        "held_lanes": statistics.held_lanes,
        "dead": statistics.dead,
        "capacity": statistics.capacity,
        "paused": statistics.paused,
        "delivered_total": statistics.delivered_total,
        "oldest_waiting_seconds": statistics.oldest_waiting_seconds,
    }


def dead_letter_to_json(letter: DeadLetter) -> DeadTask:
    """Return a dead letter of the queue as JSON."""
    return {
        "kind": "task",
        "id": letter.entry.task_id,
        "task_id": letter.entry.task_id,
        "session_id": letter.entry.session_id,
        "deliveries": letter.delivery_count,
        "died_at": letter.died_at.isoformat(),
    }


def undelivered_entry_to_json(entry: OutboundEntry) -> UndeliveredMessage:
    """Return a dead letter of a channel, one message to a chat, as JSON."""
    return {
        "kind": "message",
        "id": entry.id,
        "task_id": entry.run_id,
        "channel": entry.channel,
        "chat": entry.chat,
        "attempts": entry.attempts,
        "may_have_arrived": entry.doubtful,
        "error": entry.last_error,
        "created_at": to_iso(entry.created_at),
    }
