"""Counts of a shared queue as one process knows them: by the newest reply of its server, with its own slots."""

from collections.abc import Callable, Mapping
from functools import partial

from sophon.errors import QueueFull
from sophon_hosting.queue.admission import count_needed_departures, may_enter
from sophon_hosting.queue.drain_rate import DrainRate


class KnownCounts:
    """Waiting entries, by owner, of a queue that other processes change too, and the decision about a further one.

    `capacity` and `owner_share` are those of `MemoryQueue`. What a server replies replaces what was known before, so
    that an error does not last; slots are of this process alone.
    """

    def __init__(self, capacity: int, owner_share: float) -> None:
        if capacity < 1:
            raise ValueError(f"capacity ({capacity}) must be at least 1")
        if not 0 < owner_share <= 1:
            raise ValueError(f"owner_share ({owner_share}) must be above 0 and at most 1")
        self.capacity, self.owner_share = capacity, owner_share
        self.waiting = self.in_flight = self.reserved = 0
        self._owner_count = 0
        self._owners: dict[str, int] = {}
        self._reserved_by_owner: dict[str, int] = {}
        self._drain_rate = DrainRate()

    def learn(self, waiting: int, in_flight: int, owners: int, owner: str, owner_waiting: int) -> None:
        """Take over totals, the number of owners, and what waits of one of them."""
        self.waiting, self.in_flight, self._owner_count = waiting, in_flight, owners
        if owner_waiting:
            self._owners[owner] = owner_waiting
        else:
            self._owners.pop(owner, None)

    def learn_all(self, in_flight: int, owners: Mapping[str, int]) -> None:
        """Take over what waits of every owner."""
        self._owners = dict(owners)
        self.waiting, self.in_flight, self._owner_count = sum(owners.values()), in_flight, len(owners)

    def record_completion(self, seconds: float) -> None:
        """Record how long a task ran; see `DrainRate`."""
        self._drain_rate.record_completion(seconds)

    def reserved_by(self, owner: str) -> int:
        """Return the number of slots that this process has reserved for an owner."""
        return self._reserved_by_owner.get(owner, 0)

    def check(self, owner: str, *, is_paused: bool) -> None:
        """Raise QueueFull if the owner may not add an entry, as far as is known."""
        own = self._owners.get(owner, 0) + self.reserved_by(owner)
        if not may_enter(own, self.waiting + self.reserved, self.capacity, self.owner_share):
            raise self.refusal(owner, is_paused=is_paused)

    def refusal(self, owner: str, *, is_paused: bool) -> QueueFull:
        """Return the error for an owner that may not add an entry."""
        own, occupied = self._owners.get(owner, 0) + self.reserved_by(owner), self.waiting + self.reserved
        owners = max(self._owner_count, len(self._owners.keys() | self._reserved_by_owner.keys()))
        needed = count_needed_departures(own, owners, occupied, self.capacity, self.owner_share)
        seconds = self._drain_rate.estimate_retry_after_seconds(0 if is_paused else self.in_flight, needed)
        return QueueFull(self.capacity, seconds, owner_waiting=own if occupied < self.capacity else None)

    def reserve(self, owner: str) -> Callable[[], None]:
        """Count a slot; the result ends it."""
        self.reserved += 1
        self._reserved_by_owner[owner] = self.reserved_by(owner) + 1
        return partial(self._release, owner)

    def _release(self, owner: str) -> None:
        self.reserved -= 1
        count = self._reserved_by_owner[owner] - 1
        if count:
            self._reserved_by_owner[owner] = count
        else:
            del self._reserved_by_owner[owner]
