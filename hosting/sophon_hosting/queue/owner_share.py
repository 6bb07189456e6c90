"""Admission to a queue that several owners share: one owner alone cannot fill it.

The rule is the dynamic threshold of shared buffers (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2),
1998): an owner may hold up to a multiple of the slots that are free. Nobody has to be counted or configured. With the
default, one owner may hold 75 of 100 slots; two owners who send all they can hold 43 each and leave 14 free, ten hold
9 each and leave 3. What was rejected: docs/decisions/0017-fair-shares-of-the-queue.md.
"""

from bisect import bisect_left


class OwnerCounts:
    """Occupied slots of a bounded queue, in total and by owner, and the decision about a further one."""

    __slots__ = ("_by_owner", "_capacity", "_owner_share", "total")

    def __init__(self, capacity: int, owner_share: float) -> None:
        if not 0 < owner_share <= 1:
            raise ValueError(f"owner_share ({owner_share}) must be above 0 and at most 1")
        self._capacity, self._owner_share = capacity, owner_share
        self._by_owner: dict[str, int] = {}
        self.total = 0

    def add(self, owner: str) -> None:
        """Count an entry or a reserved slot."""
        self._by_owner[owner] = self._by_owner.get(owner, 0) + 1
        self.total += 1

    def remove(self, owner: str) -> None:
        """Stop counting one."""
        self.total -= 1
        count = self._by_owner[owner] - 1
        if count:
            self._by_owner[owner] = count
        else:
            del self._by_owner[owner]

    def by_owner(self) -> dict[str, int]:
        """Return the occupied slots of each owner that has any."""
        return dict(self._by_owner)

    def has_room(self, owner: str) -> bool:
        """Return whether the owner may add an entry."""
        return may_enter(self._by_owner.get(owner, 0), self.total, self._capacity, self._owner_share)

    def needed_departures(self, owner: str) -> int:
        """Return how many entries must leave until the owner may add one."""
        count = self._by_owner.get(owner, 0)
        return count_needed_departures(count, len(self._by_owner), self.total, self._capacity, self._owner_share)

    def over_share(self, owner: str) -> int | None:
        """Return the owner's entries if it is refused although the queue has room; None if the queue is full."""
        return self._by_owner.get(owner, 0) if self.total < self._capacity else None


def may_enter(owner_count: int, occupied: int, capacity: int, owner_share: float) -> bool:
    """Return whether an owner with `owner_count` entries may add one to a queue in which `occupied` slots are in use.

    `owner_share` (above 0, at most 1) is the part of the capacity that one owner may hold while nobody else waits; 1
    means no limit but the capacity. The last free slot is for owners who have no entry.
    """
    free = capacity - occupied
    if free < 1:
        return False
    if owner_share >= 1 or not owner_count:
        return True
    return free > 1 and owner_count * (1 - owner_share) < owner_share * free


def count_needed_departures(owner_count: int, owners: int, occupied: int, capacity: int, owner_share: float) -> int:
    """Return how many entries must leave, in turn from each of the `owners`, until the owner may enter; at least 1."""

    def is_enough(departures: int) -> bool:
        own = max(owner_count - departures // max(owners, 1), 0)
        return may_enter(own, occupied - departures, capacity, owner_share)

    candidates = range(1, max(occupied, 1) + 1)
    return min(candidates[0] + bisect_left(candidates, True, key=is_enough), len(candidates))
