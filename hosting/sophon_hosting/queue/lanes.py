"""A lane per session: what waits in it, what runs, who holds it, and whose turn it is."""

from collections import OrderedDict
from dataclasses import dataclass

from sophon_hosting.queue.acceptance import Ticket
from sophon_hosting.queue.contract import QueueEntry


@dataclass(slots=True, eq=False)
class Item:
    """An entry on its way through the queue. `since` is when it began to wait or, in flight, when it was delivered."""

    entry: QueueEntry
    ticket: Ticket
    since: float
    deliveries: int = 0


class Lane:
    """One session. An OrderedDict, because entries leave from its middle and return to its front, all in O(1)."""

    __slots__ = ("holder", "running", "waiting")

    def __init__(self) -> None:
        self.waiting: OrderedDict[str, Item] = OrderedDict()
        self.running: Item | None = None
        self.holder: str | None = None

    @property
    def empty(self) -> bool:
        """Nothing is to be remembered of it."""
        return not self.waiting and self.running is None and self.holder is None

    def next(self) -> Item | None:
        """What it would deliver now."""
        if self.running is not None or not self.waiting:
            return None
        if self.holder is not None:
            return self.waiting.get(self.holder)
        return next(iter(self.waiting.values()))


class Lanes:
    """The lanes, and among them in turn those that can deliver; each operation in O(1).

    A lane joins the ready ones at their back whenever it becomes ready, and so stands behind all others after each of
    its deliveries: between two tasks of one session every other ready session has had its turn.
    """

    __slots__ = ("_lanes", "_ready", "held")

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}
        self._ready: OrderedDict[str, Lane] = OrderedDict()
        self.held = 0

    @property
    def ready(self) -> bool:
        """Whether `take` would find something."""
        return bool(self._ready)

    def running(self, session_id: str) -> Item | None:
        """What of the session is in flight."""
        lane = self._lanes.get(session_id)
        return lane.running if lane else None

    def add(self, item: Item, *, front: bool) -> None:
        """Let it wait, behind or before the others of its session."""
        lane = self._lane(item.entry.session_id)
        lane.waiting[item.entry.task_id] = item
        if front:
            lane.waiting.move_to_end(item.entry.task_id, last=False)
        self._settle(item.entry.session_id, lane)

    def to_front(self, item: Item) -> None:
        """It waits, and goes before the others of its session."""
        self._lanes[item.entry.session_id].waiting.move_to_end(item.entry.task_id, last=False)

    def discard(self, item: Item) -> None:
        """It waits no longer, and was not delivered."""
        lane = self._lanes[item.entry.session_id]
        del lane.waiting[item.entry.task_id]
        self._settle(item.entry.session_id, lane)

    def take(self) -> Item | None:
        """The next of the lane that has been ready longest, which now is in flight."""
        if not self._ready:
            return None
        session_id, lane = next(iter(self._ready.items()))
        item = lane.next()
        assert item is not None, f"lane {session_id!r} is ready and has nothing to deliver"
        del lane.waiting[item.entry.task_id]
        lane.running = item
        self._settle(session_id, lane)
        return item

    def finish(self, item: Item) -> None:
        """It is no longer in flight."""
        lane = self._lanes[item.entry.session_id]
        lane.running = None
        self._settle(item.entry.session_id, lane)

    def hold(self, session_id: str, task_id: str) -> bool:
        """Deliver nothing but this task of the session; False if another holds it."""
        lane = self._lane(session_id)
        if lane.holder is None:
            lane.holder = task_id
            self.held += 1
            self._settle(session_id, lane)
        return lane.holder == task_id

    def free(self, session_id: str, task_id: str) -> bool:
        """End the hold of this task; False if it has none."""
        lane = self._lanes.get(session_id)
        if lane is None or lane.holder != task_id:
            return False
        lane.holder = None
        self.held -= 1
        self._settle(session_id, lane)
        return True

    def _lane(self, session_id: str) -> Lane:
        lane = self._lanes.get(session_id)
        if lane is None:
            lane = self._lanes[session_id] = Lane()
        return lane

    def _settle(self, session_id: str, lane: Lane) -> None:
        """After any change: among the ready ones or not, and forgotten once it is empty."""
        if lane.next() is None:
            self._ready.pop(session_id, None)
        else:
            self._ready.setdefault(session_id, lane)
        if lane.empty:
            del self._lanes[session_id]
