"""Counts of a shared queue as this process knows them: those of the newest reply, and what it has done since."""

from collections import deque
from collections.abc import Mapping

from sophon.errors import QueueFull
from sophon_hosting.queue.admission import count_needed_departures, may_enter
from sophon_hosting.queue.drain_rate import SAMPLE_COUNT, estimate_retry_after_seconds


class KnownCounts:
    """Waiting entries in total and by owner, slots of this process, and the decision about a further one.

    Entries of owners beyond those in the newest reply, which names the 1,000 with most, count in the total only.
    """

    def __init__(self, capacity: int, owner_share: float) -> None:
        if not 0 < owner_share <= 1:
            raise ValueError(f"owner_share ({owner_share}) must be above 0 and at most 1")
        self._capacity, self._owner_share = capacity, owner_share
        self._waiting = 0
        self._by_owner: dict[str, int] = {}
        self._slots: dict[str, int] = {}
        self._in_flight = 0
        self._seconds: float | None = None
        self._durations: deque[float] = deque(maxlen=SAMPLE_COUNT)
        self.deliveries = 0
        """Number of deliveries; they come on another connection, and a count that was asked for meanwhile is unsure."""

    @property
    def waiting(self) -> int:
        """Number of waiting entries."""
        return self._waiting

    @property
    def reserved(self) -> int:
        """Number of slots."""
        return sum(self._slots.values())

    @property
    def average_seconds(self) -> float | None:
        """Average duration of the newest tasks of this process; None if there was none."""
        return sum(self._durations) / len(self._durations) if self._durations else None

    def record_completion(self, seconds: float) -> None:
        """Record the time between a delivery and its ack."""
        self._durations.append(seconds)

    def count_slots(self, owner: str) -> int:
        """Return the owner's slots."""
        return self._slots.get(owner, 0)

    def replace(self, waiting: int, by_owner: Mapping[str, int], in_flight: int, seconds: float | None) -> None:
        """Set what the server has counted; `seconds` is the average duration of a task."""
        self._waiting, self._by_owner = waiting, dict(by_owner)
        self._in_flight, self._seconds = in_flight, seconds

    def change(self, owner: str, waiting: int, in_flight: int = 0) -> None:
        """Count what this process has done."""
        self.deliveries += in_flight > 0
        self._waiting = max(self._waiting + waiting, 0)
        self._in_flight = max(self._in_flight + in_flight, 0)
        count = self._by_owner.get(owner, 0) + waiting
        if count > 0:
            self._by_owner[owner] = count
        else:
            self._by_owner.pop(owner, None)

    def reserve(self, owner: str, *, is_paused: bool) -> None:
        """Count a slot. Raises QueueFull."""
        own, occupied = self._by_owner.get(owner, 0) + self.count_slots(owner), self._waiting + self.reserved
        if not may_enter(own, occupied, self._capacity, self._owner_share):
            owners = len({*self._by_owner, *self._slots})
            raise self.refuse(own, owners, occupied, 0 if is_paused else self._in_flight)
        self._slots[owner] = self.count_slots(owner) + 1

    def release(self, owner: str) -> None:
        """Stop counting a slot."""
        self._slots[owner] -= 1
        if not self._slots[owner]:
            del self._slots[owner]

    def refuse(self, own: int, owners: int, occupied: int, in_flight: int) -> QueueFull:
        """Return the refusal of an owner with `own` of the occupied slots."""
        needed = count_needed_departures(own, owners, occupied, self._capacity, self._owner_share)
        average = self.average_seconds if self._durations else self._seconds
        seconds = estimate_retry_after_seconds([] if average is None else [average], in_flight, needed)
        return QueueFull(self._capacity, seconds, owner_waiting=own if occupied < self._capacity else None)
