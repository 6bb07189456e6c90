"""Lanes: per-session FIFO queues with holds, and round-robin scheduling of the ready lanes."""

from collections import OrderedDict
from dataclasses import dataclass

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.position_index import Ticket


@dataclass(slots=True, eq=False)
class QueueItem:
    """Entry with its queue state. `since` is the monotonic time when it began to wait or, in flight, was delivered."""

    entry: QueueEntry
    ticket: Ticket
    since: float
    deliveries: int = 0


class Lane:
    """FIFO lane of one session, with at most one item in flight; while `holder` is set, only that task is delivered.

    An OrderedDict removes entries from the middle and returns them to the front in O(1).
    """

    __slots__ = ("holder", "in_flight", "waiting")

    def __init__(self) -> None:
        self.waiting: OrderedDict[str, QueueItem] = OrderedDict()
        self.in_flight: QueueItem | None = None
        self.holder: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the lane has no state and can be discarded."""
        return not self.waiting and self.in_flight is None and self.holder is None

    def peek(self) -> QueueItem | None:
        """Return the item that the lane would deliver now, or None."""
        if self.in_flight is not None or not self.waiting:
            return None
        if self.holder is not None:
            return self.waiting.get(self.holder)
        return next(iter(self.waiting.values()))


class LaneScheduler:
    """Round-robin scheduler over the lanes of all sessions; every operation takes O(1).

    A lane is appended to the ready lanes whenever it becomes ready, also after each of its deliveries: between two
    tasks of one session, every other ready session is served once.
    """

    __slots__ = ("_lanes", "_ready", "held_count")

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}
        self._ready: OrderedDict[str, Lane] = OrderedDict()
        self.held_count = 0

    @property
    def has_ready_lane(self) -> bool:
        """Whether `take` would return an item."""
        return bool(self._ready)

    def find_in_flight(self, session_id: str) -> QueueItem | None:
        """Return the session's item in flight, or None."""
        lane = self._lanes.get(session_id)
        return lane.in_flight if lane else None

    def add(self, item: QueueItem, *, front: bool) -> None:
        """Enqueue an item behind or before the others of its session."""
        lane = self._get_or_create_lane(item.entry.session_id)
        lane.waiting[item.entry.task_id] = item
        if front:
            lane.waiting.move_to_end(item.entry.task_id, last=False)
        self._update(item.entry.session_id, lane)

    def move_to_front(self, item: QueueItem) -> None:
        """Move a waiting item before the others of its session."""
        self._lanes[item.entry.session_id].waiting.move_to_end(item.entry.task_id, last=False)

    def discard(self, item: QueueItem) -> None:
        """Remove a waiting item without delivering it."""
        lane = self._lanes[item.entry.session_id]
        del lane.waiting[item.entry.task_id]
        self._update(item.entry.session_id, lane)

    def take(self) -> QueueItem | None:
        """Return the next item of the longest-ready lane and mark it as in flight; None if no lane is ready."""
        if not self._ready:
            return None
        session_id, lane = next(iter(self._ready.items()))
        item = lane.peek()
        assert item is not None, f"lane {session_id!r} is marked ready but has nothing to deliver"
        del lane.waiting[item.entry.task_id]
        lane.in_flight = item
        self._update(session_id, lane)
        return item

    def finish(self, item: QueueItem) -> None:
        """Mark the item as no longer in flight."""
        lane = self._lanes[item.entry.session_id]
        lane.in_flight = None
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
        lane = self._lanes.get(session_id)
        if lane is None or lane.holder != task_id:
            return False
        lane.holder = None
        self.held_count -= 1
        self._update(session_id, lane)
        return True

    def _get_or_create_lane(self, session_id: str) -> Lane:
        lane = self._lanes.get(session_id)
        if lane is None:
            lane = self._lanes[session_id] = Lane()
        return lane

    def _update(self, session_id: str, lane: Lane) -> None:
        """Update the ready lanes after a change, and discard an empty lane."""
        if lane.peek() is None:
            self._ready.pop(session_id, None)
        else:
            self._ready.setdefault(session_id, lane)
        if lane.is_empty:
            del self._lanes[session_id]
