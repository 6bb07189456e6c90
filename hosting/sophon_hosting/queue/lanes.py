"""Lanes: per-session FIFO queues with holds; owners are served in turn, and so are the lanes of one owner."""

from collections import OrderedDict
from collections.abc import Iterable

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.queue.contract import QueueEntry

_NOT_LISTED = object()


@dataclass(slots=True, eq=False)
class QueueItem:
    """Entry with its queue state. `since` is the monotonic time when it began to wait or, in flight, was delivered."""

    entry: QueueEntry
    since: float = 0.0
    deliveries: int = 0


class Lane:
    """FIFO lane of one session, with at most one item in flight; while `holder` is set, only that task is delivered.

    `owner` and `count` are what the scheduler has listed: the owner in whose turn the lane is served, which is that of
    its next item, and the number of its deliverable items. An OrderedDict removes entries from the middle and returns
    them to the front in O(1).
    """

    __slots__ = ("count", "holder", "in_flight", "owner", "waiting")

    def __init__(self) -> None:
        self.waiting: OrderedDict[str, QueueItem] = OrderedDict()
        self.in_flight: QueueItem | None = None
        self.holder: str | None = None
        self.owner = ""
        self.count = 0

    def next_item(self) -> QueueItem | None:
        """Return the item that is delivered next, when nothing is in flight; None if there is none."""
        return next(iter(self.waiting.values()), None) if self.holder is None else self.waiting.get(self.holder)


class LaneScheduler:
    """Two-level round-robin scheduler: over the owners with a ready lane, and over the ready lanes of each owner.

    An owner that has just been served goes behind all other ready owners, and a lane that has delivered behind the
    other ready lanes of its owner: between two tasks of one owner, every other ready owner is served once. Operations
    take O(1), a change of a hold O(items of the lane).

    The newest lane and the newest rotation that became empty are kept for the next session and owner: in a queue that
    is mostly empty, each task would create both, which is most of its cost.
    """

    __slots__ = ("_empty_lane", "_empty_rotation", "_lanes_by_owner", "held_count", "lanes", "owners")

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.owners = Rotation()
        """Owners with deliverable items; while one is `ready`, `take` returns an item."""
        self._lanes_by_owner: dict[str, Rotation] = {}
        self._empty_lane: Lane | None = None
        self._empty_rotation: Rotation | None = None
        self.held_count = 0

    def add(self, item: QueueItem, *, front: bool) -> None:
        """Enqueue an item behind or before the others of its session."""
        lane = self._get_or_create_lane(item.entry.session_id)
        lane.waiting[item.entry.task_id] = item
        if front:
            lane.waiting.move_to_end(item.entry.task_id, last=False)
        self._update(item.entry.session_id, lane)

    def move_to_front(self, item: QueueItem) -> None:
        """Move a waiting item before the others of its session."""
        lane = self.lanes[item.entry.session_id]
        lane.waiting.move_to_end(item.entry.task_id, last=False)
        self._update(item.entry.session_id, lane)

    def discard(self, item: QueueItem) -> None:
        """Remove a waiting item without delivering it."""
        lane = self.lanes[item.entry.session_id]
        del lane.waiting[item.entry.task_id]
        self._update(item.entry.session_id, lane)

    def take(self) -> QueueItem | None:
        """Return the next item of the owner whose turn it is and mark it as in flight; None if no lane is ready."""
        if not self.owners.ready:
            return None
        owner = next(iter(self.owners.ready))
        session_id = next(iter(self._lanes_by_owner[owner].ready))
        lane = self.lanes[session_id]
        item = lane.next_item()
        assert item is not None, f"lane {session_id!r} is listed as ready but has nothing to deliver"
        del lane.waiting[item.entry.task_id]
        lane.in_flight = item
        self._update(session_id, lane)
        if owner in self.owners.ready:
            self.owners.ready.move_to_end(owner)
        return item

    def finish(self, item: QueueItem) -> None:
        """Mark the item as no longer in flight."""
        lane = self.lanes[item.entry.session_id]
        lane.in_flight = None
        self._update(item.entry.session_id, lane)

    def adopt(self, item: QueueItem) -> None:
        """Mark an item as in flight that another scheduler has delivered; nothing of its session may be in flight."""
        lane = self._get_or_create_lane(item.entry.session_id)
        lane.in_flight = item
        self._update(item.entry.session_id, lane)

    def hold_lane(self, session_id: str, task_id: str) -> bool:
        """Restrict the session's lane to this task. Return False if another task holds it."""
        lane = self._get_or_create_lane(session_id)
        if lane.holder is None:
            lane.holder = task_id
            self.held_count += 1
            self._update(session_id, lane)
        return lane.holder == task_id

    def release_lane(self, session_id: str, task_id: str) -> bool:
        """End the hold of this task. Return False if it does not hold the lane."""
        lane = self.lanes.get(session_id)
        if lane is None or lane.holder != task_id:
            return False
        lane.holder = None
        self.held_count -= 1
        self._update(session_id, lane)
        return True

    def position(self, item: QueueItem) -> int:
        """Return how many items are delivered before a waiting one if nothing changes; see `TaskQueue.position`."""
        task_id, lane = item.entry.task_id, self.lanes[item.entry.session_id]
        if task_id == lane.holder:
            index = 0
        elif next(reversed(lane.waiting)) == task_id:
            index = len(lane.waiting) - 1
        else:
            index = list(lane.waiting).index(task_id)
        return self._count_before(item.entry, lane, index)

    def position_at_end(self, entry: QueueEntry) -> int:
        """Return the position that an entry would have if it was added at the end of its lane now."""
        lane = self.lanes.get(entry.session_id)
        index = 0 if lane is None or lane.holder == entry.task_id else len(lane.waiting)
        return self._count_before(entry, lane, index)

    def _count_before(self, entry: QueueEntry, lane: Lane | None, index: int) -> int:
        owner = lane.owner if lane is not None and lane.count else entry.owner
        will_be_ready = lane is None or lane.in_flight is None
        lanes = self._lanes_by_owner.get(owner)
        rank = index
        if lanes is not None:
            rank += lanes.count_before(entry.session_id, index, will_be_ready=will_be_ready)
        return rank + self.owners.count_before(owner, rank, will_be_ready=will_be_ready)

    def _get_or_create_lane(self, session_id: str) -> Lane:
        lane = self.lanes.get(session_id)
        if lane is None:
            lane = self.lanes[session_id] = self._empty_lane or Lane()
            self._empty_lane = None
        return lane

    def _update(self, session_id: str, lane: Lane) -> None:
        """List the lane under the owner of its next item after a change, and discard an empty lane."""
        waiting, item = lane.waiting, None
        if waiting:
            item = lane.next_item()
        count = len(waiting) if lane.holder is None else int(item is not None)
        if item is not None and item.entry.owner != lane.owner:
            if lane.count:
                self._list(session_id, lane, 0)
            lane.owner = item.entry.owner
        if count or lane.count:
            self._list(session_id, lane, count)
        if not (count or waiting or lane.in_flight is not None or lane.holder is not None):
            del self.lanes[session_id]
            self._empty_lane = lane

    def _list(self, session_id: str, lane: Lane, count: int) -> None:
        """List the lane with so many deliverable items under its owner."""
        owner = lane.owner
        lanes = self._lanes_by_owner.get(owner)
        if lanes is None:
            lanes = self._lanes_by_owner[owner] = self._empty_rotation or Rotation()
            self._empty_rotation = None
        lanes.update(session_id, count, is_ready=lane.in_flight is None)
        total = self.owners.counts.get(owner, 0) + count - lane.count
        self.owners.update(owner, total, is_ready=bool(lanes.ready))
        lane.count = count
        if not total:
            self._empty_rotation = self._lanes_by_owner.pop(owner)


class Rotation:
    """Round-robin order of members (owners, or the sessions of one owner), each with a number of entries.

    The ready members are served in turn, one entry each; a member that becomes ready goes behind the other ready ones.
    Busy members have entries but cannot be served now (a session with a task in flight); they count as behind the ready
    ones. Changes take O(1) per entry; `count_before` takes O(members + index), O(busy members + index) for the last
    ready member.
    """

    __slots__ = ("_above", "busy", "counts", "ready")

    def __init__(self) -> None:
        self.ready: OrderedDict[str, object] = OrderedDict()
        self.busy: OrderedDict[str, object] = OrderedDict()
        self.counts: dict[str, int] = {}
        """Number of entries of each member."""
        # At index n: the number of members with more than n entries.
        self._above: list[int] = []

    def update(self, member: str, count: int, *, is_ready: bool) -> None:
        """Set the number of entries of a member and whether it is ready; a member without entries is removed."""
        before = self.counts.get(member, 0)
        if count == before + 1:
            if before == len(self._above):
                self._above.append(1)
            else:
                self._above[before] += 1
        elif count == before - 1:
            self._above[count] -= 1
            if not self._above[-1]:
                self._above.pop()
        else:
            self._resize(before, count)
        if not count:
            if before:
                del self.counts[member]
                if self.ready.pop(member, _NOT_LISTED) is _NOT_LISTED:
                    del self.busy[member]
            return
        self.counts[member] = count
        listed, other = (self.ready, self.busy) if is_ready else (self.busy, self.ready)
        if member not in listed:
            if before:
                del other[member]
            listed[member] = None

    def count_before(self, member: str, index: int, *, will_be_ready: bool) -> int:
        """Return how many entries of other members are served before the entry number `index` (from 0) of a member.

        `will_be_ready` is used for a member that is not ready: whether it goes behind the ready members or behind all.
        """
        if len(self.counts) == (member in self.counts):
            return 0
        own = self.counts.get(member, 0)
        earlier_rounds = sum(self._above[:index]) - min(own, index) if index else 0
        if index >= len(self._above):
            return earlier_rounds
        others = self._above[index] - (own > index)
        if member in self.ready:
            if next(reversed(self.ready)) == member:
                return earlier_rounds + others - self._count_above(self.busy, member, index)
            return earlier_rounds + self._count_until(self.ready, member, index)
        if will_be_ready:
            return earlier_rounds + others - self._count_above(self.busy, member, index)
        if member in self.busy:
            others -= self._count_above(self.busy, member, index)
            return earlier_rounds + others + self._count_until(self.busy, member, index)
        return earlier_rounds + others

    def _resize(self, before: int, after: int) -> None:
        above = self._above
        if after > len(above):
            above.extend([0] * (after - len(above)))
        for index in range(before, after):
            above[index] += 1
        for index in range(after, before):
            above[index] -= 1
        while above and not above[-1]:
            above.pop()

    def _count_above(self, members: Iterable[str], excluded: str, index: int) -> int:
        """Return how many of the members, without `excluded`, have more than `index` entries."""
        counts, total = self.counts, 0
        for each in members:
            total += counts[each] > index and each != excluded
        return total

    def _count_until(self, members: Iterable[str], last: str, index: int) -> int:
        """Return how many of the members before `last` have more than `index` entries."""
        total = 0
        for each in members:
            if each == last:
                break
            total += self.counts[each] > index
        return total
