"""Active runs: those that this process has accepted or is running now, with their state of cancellation and end."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.clock import Clock
from sophon.context import Context
from sophon.context.turn_log import TurnEnd
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.usage.contract import UsageRow
from sophon.task_timeout import TaskTimeout
from sophon_hosting.events.staged_writes import StagedWrite
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import OutdatedRun, Run

Unsettled: TypeAlias = deque[Callable[[], Awaitable[object]]]
"""Ends of budget reservations that the store did not take, each as it is called again."""


@dataclass(frozen=True, slots=True)
class HeldOutcome:
    """Outcome of a run that the store could not take yet: the end of the turn, and its session records."""

    records: Sequence[SessionRecord]
    turn_end: TurnEnd


@dataclass(slots=True, eq=False)
class ActiveRun:
    """Run that this process runs, in a consumer of the worker, or ends (`RunTerminator`).

    `pending_approval_ids` holds the ids of approvals requested in this pass and not decided; the run `may_have_asked`
    from the moment at which it begins to store the first. `is_finalizing` is True while and after the outcome or the
    suspension is written: the run can no longer be interrupted. `has_outcome` is True once the outcome is stored,
    `is_suspended` once the suspension is stored, `outcome_write_failed` if the store refused the outcome.
    `held_outcome` is the outcome that an unavailable store did not take; it is written again until the store takes it,
    and `is_waiting_for_store` is True between two attempts: then the run can be interrupted.
    `store` is the store as the turn sees it, whose operations wait while it `may_wait_for_store`. `is_chain_over` is
    True once the chain has returned or raised. `checkpoint` is the newest one of this start. The run `must_begin` until
    the store has begun it, together with the first records of its turn. `usage` is what the turn has handed over and is
    written with the outcome, `stored_usage` the part of it that the stored checkpoint has, `unsettled` is what its
    process ends of reservations that the store did not take. `released` is set when the worker has released the run.
    `timeout` is its time limit while its chain runs. `fence` is in whose name the run writes, from its begin on. It
    ends without an outcome here once it `is_stale`, continued elsewhere, if it `is_outdated`, changed between read and
    begin, if it `waits_for` an earlier run of its session, and once it `has_lost_lease`: another worker has its task
    then. `renewal_seconds` is the interval at which its lease is renewed, None without leases: a process that stood
    still for longer may have lost it. With `unless_running` another process gets no outcome from here while it runs it.
    """

    task_id: str
    run: Run | None = None
    ctx: Context | None = None
    worker_task: asyncio.Task[None] | None = None
    timeout: TaskTimeout | None = None
    pending_approval_ids: list[str] = field(default_factory=new_list)
    may_have_asked: bool = False
    is_cancel_requested: bool = False
    is_interrupted: bool = False
    has_lost_lease: bool = False
    renewal_seconds: float | None = None
    unless_running: bool = False
    is_finalizing: bool = False
    has_outcome: bool = False
    is_suspended: bool = False
    outcome_write_failed: bool = False
    held_outcome: HeldOutcome | None = None
    is_waiting_for_store: bool = False
    store: HostStore | None = None
    is_chain_over: bool = False
    checkpoint: StagedWrite | None = None
    must_begin: bool = False
    usage: list[UsageRow] = field(default_factory=new_list)
    stored_usage: list[UsageRow] = field(default_factory=new_list)
    unsettled: Unsettled = field(default_factory=Unsettled)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    fence: RunFence | None = None
    is_stale: bool = False
    is_outdated: bool = False
    waits_for: str = ""

    @property
    def is_concluded(self) -> bool:
        """Whether nothing else may determine the outcome: it is stored, held, or was refused by the store."""
        return self.has_outcome or self.outcome_write_failed or self.held_outcome is not None or self.is_elsewhere

    @property
    def is_elsewhere(self) -> bool:
        """Whether the run gets its outcome from a later start: it is stale or outdated, or waits for an earlier run."""
        return self.is_stale or self.is_outdated or bool(self.waits_for)

    @property
    def start(self) -> int | None:
        """The number of the start that runs here; None before it has begun, and for who does not run the run."""
        return self.fence.start if self.fence is not None else None

    @property
    def seen_starts(self) -> int | None:
        """The starts that a run had when it was read which has not begun here."""
        if self.run is None:
            return None
        return self.run.starts - 1 if self.must_begin else self.run.starts  # a worker has counted its own already

    def leave_to_others(self, refusal: StaleRun | OutdatedRun) -> None:
        """Note that the store has refused the outcome, because the run was started elsewhere meanwhile."""
        if isinstance(refusal, OutdatedRun):
            self.is_outdated = True
        else:
            self.become_stale()

    def become_stale(self) -> None:
        """End the turn at once: the run was continued elsewhere."""
        if not self.is_stale:
            self.is_stale, self.held_outcome = True, None
            self._cancel_task()

    def may_wait_for_store(self) -> bool:
        """Return whether the turn may wait for its store: until it is cancelled, interrupted, out of time or over."""
        if (
            self.is_interrupted
            or self.is_cancel_requested
            or self.is_elsewhere
            or self.is_finalizing
            or self.is_chain_over
        ):
            return False
        if self.timeout is not None and self.timeout.expired():
            return False
        return self.ctx is None or not self.ctx.cancellation.is_requested

    def cancel(self) -> None:
        """Request cancellation of the run by a user."""
        if not self.is_cancel_requested:
            self.is_cancel_requested = True
            self._cancel_task()

    def interrupt(self) -> None:
        """Interrupt the run because the process is shutting down; the next process resumes it."""
        if not self.is_interrupted:
            self.is_interrupted = True
            if self.is_waiting_for_store and self.worker_task is not None:
                self.worker_task.cancel()
            else:
                self._cancel_task()

    def lose_lease(self) -> None:
        """Interrupt the run because another worker has its task now; this one leaves no outcome."""
        self.has_lost_lease = True
        self.interrupt()

    def begin_finalizing(self) -> None:
        """Disable the time limit and interruption before the outcome is written."""
        self.is_finalizing = True
        if self.timeout is not None:
            self.timeout.pause()

    def _cancel_task(self) -> None:
        if self.worker_task is not None and not self.is_finalizing:
            if self.ctx is not None:
                self.ctx.cancellation.request()  # holds also if a middleware swallows the CancelledError
            self.worker_task.cancel()


class ActiveRuns:
    """Registry of the active runs by task id: at most one per consumer of the worker, and those being ended."""

    def __init__(self) -> None:
        self._active_runs: dict[str, ActiveRun] = {}
        self.unsettled = Unsettled()
        """What the turns of this process have left to `RunTerminator.settle_usage`."""

    def add(self, active_run: ActiveRun) -> None:
        """Register a run."""
        self._active_runs[active_run.task_id] = active_run

    def remove(self, active_run: ActiveRun) -> None:
        """Remove a run if it is the registered one of its task, let its turn go and set its `released` event."""
        if self._active_runs.get(active_run.task_id) is active_run:
            del self._active_runs[active_run.task_id]
        # The turn's store refers to the run: a cycle, in which the texts of a turn would wait for the collector.
        active_run.ctx = active_run.store = active_run.checkpoint = None
        active_run.released.set()

    def get(self, task_id: str) -> ActiveRun | None:
        """Return the active run of a task, or None."""
        return self._active_runs.get(task_id)

    def find_start(self, task_id: str) -> int:
        """Return the number of the current start of a task; 0 if it is not active, or not begun yet."""
        active_run = self._active_runs.get(task_id)
        return active_run.run.starts if active_run is not None and active_run.run is not None else 0

    def __iter__(self) -> Iterator[ActiveRun]:
        return iter(list(self._active_runs.values()))

    def __len__(self) -> int:
        return len(self._active_runs)


MAX_AGE_SECONDS = 1.0
"""Age from which a run is read again: other processes may have changed it."""

MAX_RUNS = 64
"""Number of newest runs that are kept."""


class AcceptedRuns:
    """Newly accepted runs by task id, as the store has returned them.

    What a run became meanwhile is verified all the same: the store begins a run only if it was not cancelled and has no
    outcome (`RunStore.begin`), and that happens before the model is asked. It buys 7 % of the CPU of a message over
    SQLite.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: OrderedDict[str, tuple[Run, float]] = OrderedDict()

    def add(self, run: Run) -> None:
        """Keep a run that the store has just accepted."""
        self._runs[run.id] = (run, self._clock.monotonic())
        if len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)

    def take(self, task_id: str) -> Run | None:
        """Return and forget a run; None if it must be read from the store."""
        found = self._runs.pop(task_id, None)
        if found is None or self._clock.monotonic() - found[1] > MAX_AGE_SECONDS:
            return None
        return found[0]

    def forget(self, task_id: str) -> None:
        """Forget a run that this process changes."""
        self._runs.pop(task_id, None)
