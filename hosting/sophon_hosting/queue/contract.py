"""Contract of task queues; one module per technology implements it, and one test suite verifies all of them.

The store is the source of truth: a run's row holds its text and its outcome, the queue holds only what is
to run. An entry may be put again at any time, by a reconciler or after a restart, and remains a single entry.

States of a task and their transitions:

    put ──> waiting ──take──> in flight ──ack──> gone
               ^                  │
               ├───────nack───────┤ fewer than `max_deliveries` deliveries
               │                  v otherwise
               └─retry_dead_letter─ dead letter

Each session has a lane: at most one delivery in flight, the other entries behind it in order of acceptance. Lanes run
in parallel. A lane held by a task delivers only that task, so that later messages wait for a suspended turn.

Owners take turns, and so do the lanes of one owner (round-robin over owners, and inside over lanes): an owner that has
just been served goes behind all other owners with a ready lane, a lane that has delivered behind the other ready lanes
of its owner. An owner with a ready lane therefore waits for at most one delivery of each other owner. A lane is served
in the turn of the owner of its next entry; a session in which several people write is one lane.

Admission is shared too: where several owners send, one of them cannot fill the queue (`Queue.OwnerShare`).
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass

EntryKind: TypeAlias = Literal["run", "resume"]
"""`run`: a turn that has not started. `resume`: a started turn; it goes to the front of its lane, never refused."""

NackResult: TypeAlias = Literal["waiting", "dead", "stale"]
"""Result of `nack`: requeued (`waiting`), dead letter (`dead`), or no effect: it had ended (`stale`)."""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """Entry of the queue; the run's row in the store holds the rest. A task belongs to one session.

    `owner` is the id of the user for whom it waits; entries with the same owner share one turn and one share.
    `delivered_before` counts the deliveries to processes that died, for a queue that does not outlive its process.
    """

    task_id: str
    session_id: str
    kind: EntryKind = "run"
    owner: str = ""
    delivered_before: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """Entry delivered to one worker, which must end the delivery by `ack` or `nack`.

    `fencing_token` is a fencing token, greater than that of every earlier delivery, also across restarts: a write with
    a smaller token than the last one is stale. `delivery_count` is 1 for the first delivery of the entry.
    """

    entry: QueueEntry
    fencing_token: int
    delivery_count: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Entry given back after its last allowed delivery; `delivery_count` is its number of deliveries, `died_at` is in
    UTC.
    """

    entry: QueueEntry
    delivery_count: int
    died_at: datetime


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """Snapshot of a queue; counts are entries unless stated otherwise.

    `waiting` includes entries in held lanes; `reserved` counts slots of `reserve`; `held_lanes` counts sessions;
    `delivered_total` counts all deliveries since the queue was created; `oldest_waiting_seconds` is the longest time an
    entry has waited since it was put or given back, 0.0 if none waits.
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


@dataclass(slots=True, eq=False)
class ReservedSlot:
    """Reserved queue slot for one entry, held in this process while the run's row is written.

    It ends by `put` or `release`. As a context manager it is released at exit unless `put` was called:

        with queue.reserve(run.owner) as slot:
            await store.accept(...)
            position = await slot.put(entry)

    `admit` adds an entry regardless of the capacity; `on_end` is called once when the slot ends.
    """

    admit: Callable[[QueueEntry], Awaitable[int]]
    on_end: Callable[[], None]
    has_ended: bool = False

    async def put(self, entry: QueueEntry) -> int:
        """Enqueue the entry, never refused, and return its position. Raises RuntimeError if the slot has ended."""
        if self.has_ended:
            raise RuntimeError(
                f"the slot for {entry.task_id!r} was already used or released; reserve one slot per entry"
            )
        self.has_ended = True
        try:
            return await self.admit(entry)
        finally:
            self.on_end()

    def release(self) -> None:
        """Release the slot; does nothing if it has ended."""
        if not self.has_ended:
            self.has_ended = True
            self.on_end()

    def __enter__(self) -> "ReservedSlot":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.has_ended:
            self.release()


class TaskQueue(Protocol):
    """Bounded task queue with a lane per session. Safe for concurrent tasks of one event loop.

    Delivery is at least once: the entry of a crashed worker is delivered again when its delivery lease expires or the
    host restarts. A queue of several processes (`is_shared`) raises QueueUnavailable from every awaited operation while
    its technology cannot be reached; `take` waits instead.
    """

    @property
    def is_shared(self) -> bool:
        """Whether other processes put into this queue and take from it."""
        ...

    @property
    def lease_seconds(self) -> float | None:
        """Duration of a delivery lease; None for a technology without leases."""
        ...

    async def open(self) -> None:
        """Connect to the backend."""
        ...

    async def close(self) -> None:
        """Release the resources of `open`; waiting entries persist if the technology is persistent."""
        ...

    def reserve(self, owner: str = "") -> ReservedSlot:
        """Reserve a slot for an entry of the owner.

        Raises QueueFull if waiting entries and slots together have reached the capacity, or if the owner holds its
        share of them. Entries that entered beyond the capacity (recovery) count: new ones wait until they have drained.
        Decided within the process, without I/O, so that a crashed host leaves no slot behind. A queue shared by several
        hosts uses the newest count it knows and may slightly exceed its capacity.
        """
        ...

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Enqueue an entry and return its position, as `position` does.

        Raises QueueFull like `reserve`. Never refused are a `resume`, a call with `force` (recovery), and a task that
        the queue already holds. A known task gets no second entry: a waiting entry or dead letter stays and becomes a
        `resume` if the new entry is one; a `run` is dropped while its task is in flight; a `resume` then waits for the
        delivery to end, because a decision may arrive before its turn has suspended. The position of an entry that does
        not wait is 0.
        """
        ...

    async def take(self) -> Delivery:
        """Wait for the next entry: of the owner whose turn it is, and of the lane of that owner that has been ready
        longest. A cancelled call takes nothing.
        """
        ...

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge the delivery and unblock its lane. Return False, without effect, if it had already ended."""
        ...

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        """Return the entry to the front of its lane or, after `max_deliveries` deliveries, to the dead letters.

        A delivery that is not counted failed for a reason outside the task, and does not bring it nearer to them. A
        waiting resume of the same task is merged with it. A dead letter releases the lane that its task holds. The lane
        delivers nothing for `delay_seconds`; the entry waits meanwhile.
        """
        ...

    async def renew(self, delivery: Delivery) -> bool:
        """Renew the delivery lease. Return False if the lease was lost; the worker should then stop.

        Call it every third of a lease. A technology without leases only returns whether the delivery is still open.
        """
        ...

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        """Restrict the lane to this task; call it before the `ack` of a suspending turn.

        Does not affect a delivery in flight. Idempotent. Return False if another task holds the lane.
        """
        ...

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        """End the hold after the task has ended. Return False, without effect, if this task does not hold the lane."""
        ...

    async def remove(self, task_id: str) -> bool:
        """Remove a waiting entry or a dead letter. Return False if there is none; deliveries are not affected."""
        ...

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return the entries whose tasks neither wait nor are in flight nor are dead letters, in the same order.

        A process may answer for the part of a shared queue that it serves, and leave out the rest: each process asks.
        """
        ...

    async def position(self, task_id: str) -> int | None:
        """Return how many waiting entries are delivered before the task if nothing changes; None if it does not wait.

        An estimate for one worker: tasks in flight count as done, and entries that a held lane keeps back count for
        nobody else. Later messages of other owners can still be delivered before it, each owner's once per turn.
        """
        ...

    async def estimate_position(self, entry: QueueEntry) -> int:
        """Return the position that `put` would return for a new `run`."""
        ...

    async def pause(self) -> None:
        """Stop delivering until `resume`. Entries are still accepted; deliveries in flight continue."""
        ...

    async def resume(self) -> None:
        """Deliver again; aborts a waiting `drain`."""
        ...

    async def drain(self) -> bool:
        """Pause, and wait until no delivery of this process is in flight. Return False if aborted by `resume`.

        The queue stays paused, also if the wait is cancelled (for example by a timeout).
        """
        ...

    async def list_dead_letters(self) -> list[DeadLetter]:
        """Return the dead letters, oldest first."""
        ...

    async def retry_dead_letter(self, task_id: str) -> bool:
        """Enqueue a dead letter as a new entry, regardless of the capacity. Return False if the task has none."""
        ...

    async def statistics(self) -> QueueStatistics:
        """Return a snapshot of the queue."""
        ...
