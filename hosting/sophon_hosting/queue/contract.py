"""What the host asks of a task queue; one file per technology implements it, one suite of tests holds all to it.

The store is the truth (design.md 7): a run's row holds its text and its outcome, the queue only what is to run. So an
entry may be put again at any time, by a sweep or after a restart, and is still one entry.

Where a task can be, and what moves it:

    put ──> waiting ──take──> in flight ──ack──> gone
               ^                  │
               ├────give_back─────┤ fewer than `max_deliveries` deliveries
               │                  v otherwise
               └─────retry──── dead letter

A session is a lane: one delivery in flight, the others behind it in order of acceptance. Lanes run in parallel and in
turn: a session whose task was delivered stands behind all others that have something to run. A lane that is held by a
task delivers nothing but that task, so that what was said later waits for a turn that is suspended.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

EntryKind: TypeAlias = Literal["run", "resume"]
"""`run`: a turn that has not begun. `resume`: one that has; it stands at the front of its lane and is never refused."""

GivenBack: TypeAlias = Literal["waiting", "dead", "stale"]
"""What became of a delivery that was given back; `stale`: it was no longer the giver's, and nothing changed."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """What is to run; the task's row in the store has the rest. A task belongs to one session."""

    task_id: str
    session_id: str
    kind: EntryKind = "run"


@dataclass(frozen=True, slots=True)
class Delivery:
    """An entry in the hands of one worker, which ends it by `ack` or `give_back`.

    `token` fences: it is greater than that of every earlier delivery, over restarts too, so that a write which carries
    a smaller one than the last is late. `count` is 1 the first time that the entry is delivered.
    """

    entry: QueueEntry
    token: int
    count: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An entry that was given back too often; `count` is how often it was delivered, `died_at` is in UTC."""

    entry: QueueEntry
    count: int
    died_at: datetime


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A queue at one moment, in entries unless said otherwise.

    `waiting` counts what stands in held lanes too; `reserved` are places kept by `reserve`; `held_lanes` are sessions;
    `delivered_total` counts deliveries since the queue was made, repeated ones included; `oldest_waiting_seconds` is
    how long the entry that waits longest has waited since it was put, or given back, 0.0 if none waits.
    """

    waiting: int
    reserved: int
    in_flight: int
    held_lanes: int
    dead: int
    capacity: int
    paused: bool
    delivered_total: int
    oldest_waiting_seconds: float


class Place:
    """Room for one entry, kept while the task's row is written; belongs to the process and dies with it.

    Ends by `put` or `release`. As a context manager it releases itself, unless `put` came first:

        with queue.reserve() as place:
            await store.accept(...)
            position = await place.put(entry)

    A queue makes it of the function that lets an entry in, however many wait, and of one that counts the place out.
    """

    __slots__ = ("_admit", "_count_out", "_ended")

    def __init__(self, admit: Callable[[QueueEntry], Awaitable[int]], count_out: Callable[[], None]) -> None:
        self._admit, self._count_out = admit, count_out
        self._ended = False

    async def put(self, entry: QueueEntry) -> int:
        """Let the entry in, which is never refused now, and give its position. Raises RuntimeError if it has ended."""
        if self._ended:
            raise RuntimeError(
                f"the place for {entry.task_id!r} was put or released before; reserve one for each entry"
            )
        self._ended = True
        try:
            return await self._admit(entry)
        finally:
            self._count_out()

    def release(self) -> None:
        """Give the place up. Does nothing if it has ended."""
        if not self._ended:
            self._ended = True
            self._count_out()

    def __enter__(self) -> "Place":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class TaskQueue(Protocol):
    """A bounded queue with a lane per session. Safe to use from many tasks of one event loop at once.

    Delivery is at least once: a worker that dies gives nothing back, and its entry comes again when its lease runs out
    or the host starts anew.
    """

    async def open(self) -> None:
        """Connect."""
        ...

    async def close(self) -> None:
        """Let go of what `open` took; what waits is kept where the technology keeps it."""
        ...

    def reserve(self) -> Place:
        """A place, at once. Raises QueueFull when waiting entries and places together have reached the capacity.

        Decided in the process, without asking anybody, so that a host that dies leaves no place behind. A queue that
        several hosts share decides by the newest count that it knows, and may hold a few more than its capacity.
        """
        ...

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Let an entry in and give its position: how many waiting entries were accepted before it.

        Raises QueueFull like `reserve`. Never refused: a resume, whatever comes with `force` (recovery), and a task
        that is here already. The last makes no second entry: a waiting one or a dead letter stays, and becomes a resume
        if this is one; a run is dropped while its task is in flight. A resume that comes then waits for the delivery to
        end: the decision may be faster than the turn that asked for it. Position is 0 for what does not wait.
        """
        ...

    async def take(self) -> Delivery:
        """Wait for the next entry, that of the lane that has been ready longest. Cancelled, it has taken nothing."""
        ...

    async def ack(self, delivery: Delivery) -> bool:
        """It is done; the lane goes on. False: the delivery had ended before, and nothing changed."""
        ...

    async def give_back(self, delivery: Delivery) -> GivenBack:
        """It is not done: to the front of its lane or, after `max_deliveries` deliveries, to the dead letters.

        A resume of the same task that waits already is one with it. A task that dies frees the lane that it holds.
        """
        ...

    async def renew(self, delivery: Delivery) -> bool:
        """It is still being worked on. False: the lease was lost, and the worker should stop.

        Call it every third of a lease. A technology without leases only tells whether the delivery is still open.
        """
        ...

    async def hold(self, session_id: str, task_id: str) -> bool:
        """From now on the lane delivers nothing but this task; call it before the `ack` of the turn that suspends.

        Does not touch what is in flight. Holding again is the same hold. False: another task holds the lane.
        """
        ...

    async def free(self, session_id: str, task_id: str) -> bool:
        """End the hold, when the task has. False: this task does not hold the lane, and nothing changed."""
        ...

    async def remove(self, task_id: str) -> bool:
        """Forget a waiting entry, or a dead letter. False: there is none; what is in flight is not touched."""
        ...

    async def position(self, task_id: str) -> int | None:
        """How many waiting entries were accepted before it; None if it does not wait.

        What runs before it cannot be known: sessions take turns, and lanes can be held. A task that was given back
        keeps the moment of its acceptance, a resume and a retried one are accepted anew.
        """
        ...

    async def pause(self) -> None:
        """No more deliveries, until `resume`. The queue goes on filling, what is in flight goes on running."""
        ...

    async def resume(self) -> None:
        """Deliver again. Calls off a `drain` that waits."""
        ...

    async def drain(self) -> bool:
        """Pause, and wait until nothing that was taken here is in flight. False: called off by `resume`.

        The queue stays paused, also when the wait is cancelled (by a time limit, say).
        """
        ...

    async def dead(self) -> list[DeadLetter]:
        """The dead letters, oldest first."""
        ...

    async def retry(self, task_id: str) -> bool:
        """Let a dead letter in again as if it were new, beyond the capacity. False: there is none of that task."""
        ...

    async def statistics(self) -> QueueStatistics:
        """The queue at this moment."""
        ...
