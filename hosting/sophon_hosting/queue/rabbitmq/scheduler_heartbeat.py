"""Beats: what the process that schedules tells the others every second."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.queue.rabbitmq.restorable_queue import ScheduledQueue

BEAT_SECONDS = 1.0
"""Longest interval between two beats of the process that schedules."""

SILENCE_BEATS = 3
"""Beats that may fail to come before a process asks who schedules."""

MAX_OWNERS = 1_000
"""Owners whose number of entries a beat tells; beyond it only the sum counts."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Counts of the queue as another process last told them, for decisions within this one."""

    waiting: int = 0
    delivered: int = 0
    token: int = 0
    retry_after_seconds: int = 60
    owners: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, queue: ScheduledQueue) -> "Heartbeat":
        """Return the beat of a queue."""
        owners = dict(sorted(queue.count_owners().items(), key=lambda each: -each[1])[:MAX_OWNERS])
        return cls(
            queue.waiting_count,
            queue.delivered_total,
            queue.newest_token,
            queue.estimate_retry_after_seconds(),
            owners,
        )

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> "Heartbeat":
        """Return the beat of a message."""
        return cls(
            int(fields["waiting"]),
            int(fields["delivered"]),
            int(fields["token"]),
            int(fields["retry_after_seconds"]),
            cast("Mapping[str, int]", fields["owners"]),
        )

    def to_fields(self) -> dict[str, object]:
        """Return the fields of its message."""
        return {
            "waiting": self.waiting,
            "delivered": self.delivered,
            "token": self.token,
            "retry_after_seconds": self.retry_after_seconds,
            "owners": dict(self.owners),
        }
