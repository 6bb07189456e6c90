"""Counts of a shared queue as one process knows them: by the newest reply of its server, with its own slots."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from sophon_hosting.queue.drain_rate import DrainRate
from sophon_hosting.queue.errors import QueueFull
from sophon_hosting.queue.owner_share import count_needed_departures, may_enter


class KnownCounts:
    """Waiting entries, by owner, of a queue that other processes change too, and the decision about a further one.

    `capacity` and `owner_share` are those of `MemoryQueue`. What a server replies replaces what was known before, so
    that an error does not last; slots are of this process alone. Entries of owners whom the server did not name count
    in the total only.
    """

    def __init__(self, capacity: int, owner_share: float) -> None:
        self.capacity, self.owner_share = capacity, owner_share
        self.waiting = self.in_flight = 0
        self.reserved_by = Counter[str]()
        """Slots that this process has reserved, by owner."""
        self.drain_rate = DrainRate()
        self.deliveries = 0
        """Number of deliveries to this process, as `change` was told."""
        self._owner_count = 0
        self._owners: dict[str, int] = {}

    @property
    def reserved(self) -> int:
        """Number of slots that this process has reserved."""
        return self.reserved_by.total()

    def learn(self, waiting: int, in_flight: int, owners: int, owner: str, owner_waiting: int) -> None:
        """Take over totals, the number of owners, and what waits of one of them."""
        self.waiting, self.in_flight, self._owner_count = waiting, in_flight, owners
        if owner_waiting:
            self._owners[owner] = owner_waiting
        else:
            self._owners.pop(owner, None)

    def learn_all(self, waiting: int, in_flight: int, owners: Mapping[str, int]) -> None:
        """Take over what waits, in total and of each owner, or of those who have most."""
        self._owners = dict(owners)
        self.waiting, self.in_flight, self._owner_count = waiting, in_flight, len(owners)

    def change(self, owner: str, waiting: int, in_flight: int = 0) -> None:
        """Add what this process has done to what is known."""
        self.deliveries += in_flight > 0
        self.waiting = max(self.waiting + waiting, 0)
        self.in_flight = max(self.in_flight + in_flight, 0)
        count = self._owners.get(owner, 0) + waiting
        if count > 0:
            self._owners[owner] = count
        else:
            self._owners.pop(owner, None)

    def check(self, owner: str, *, is_paused: bool) -> None:
        """Raise QueueFull if the owner may not add an entry, as far as is known."""
        own = self._owners.get(owner, 0) + self.reserved_by[owner]
        if not may_enter(own, self.waiting + self.reserved, self.capacity, self.owner_share):
            raise self.refuse(owner, is_paused=is_paused)

    def refuse(self, owner: str, *, is_paused: bool) -> QueueFull:
        """Return the error for an owner that may not add an entry, by what is known."""
        own, occupied = self._owners.get(owner, 0) + self.reserved_by[owner], self.waiting + self.reserved
        owners = max(self._owner_count, len(self._owners.keys() | self.reserved_by.keys()))
        return self.refuse_counted(own, owners, occupied, 0 if is_paused else self.in_flight)

    def refuse_counted(self, own: int, owners: int, occupied: int, in_flight: int) -> QueueFull:
        """Return the error for one of the `owners`, who has `own` of the occupied slots."""
        needed = count_needed_departures(own, owners, occupied, self.capacity, self.owner_share)
        seconds = self.drain_rate.estimate_retry_after_seconds(in_flight, needed)
        return QueueFull(self.capacity, seconds, owner_waiting=own if occupied < self.capacity else None)

    def reserve(self, owner: str) -> Callable[[], None]:
        """Count a slot; the result ends it."""
        self.reserved_by[owner] += 1
        return partial(self._release, owner)

    def _release(self, owner: str) -> None:
        self.reserved_by[owner] -= 1
        if not self.reserved_by[owner]:
            del self.reserved_by[owner]
