"""Active runs: the runs that this process is running now, with their cancellation and finalization state."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from sophon.context import Context
from sophon.stores.run_contracts import Run


@dataclass(slots=True, eq=False)
class Job:
    """Run that a worker is running.

    `asked` holds the ids of approvals requested in this pass and not decided. `ending` is True while and after the
    outcome or the suspension is written: the run can no longer be interrupted. `concluded` is True once the outcome is
    stored, `suspended` once the suspension is stored, `unwritten` if the store refused the outcome. `over` is set when
    the worker has released the run.
    """

    task_id: str
    run: Run | None = None
    ctx: Context | None = None
    work: asyncio.Task[None] | None = None
    limit: asyncio.Timeout | None = None
    asked: list[str] = field(default_factory=lambda: [])
    cancel_wanted: bool = False
    stopping: bool = False
    ending: bool = False
    concluded: bool = False
    suspended: bool = False
    unwritten: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def cancel(self) -> None:
        """Request cancellation of the run by a user."""
        if not self.cancel_wanted:
            self.cancel_wanted = True
            self._cancel_task()

    def stop(self) -> None:
        """Interrupt the run because the process is shutting down; the next process resumes it."""
        if not self.stopping:
            self.stopping = True
            self._cancel_task()

    def end(self) -> None:
        """Disable the time limit and interruption before the outcome is written."""
        self.ending = True
        if self.limit is not None and not self.limit.expired():
            self.limit.reschedule(None)

    def _cancel_task(self) -> None:
        if self.work is not None and not self.ending:
            self.work.cancel()


class Jobs:
    """Registry of the active runs by task id; at most one per consumer of the worker."""

    def __init__(self) -> None:
        self._active_runs: dict[str, Job] = {}

    def add(self, active_run: Job) -> None:
        """Register a run."""
        self._active_runs[active_run.task_id] = active_run

    def discard(self, active_run: Job) -> None:
        """Remove a run and set its `over` event."""
        del self._active_runs[active_run.task_id]
        active_run.over.set()

    def get(self, task_id: str) -> Job | None:
        """Return the active run of a task, or None."""
        return self._active_runs.get(task_id)

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._active_runs.values()))

    def __len__(self) -> int:
        return len(self._active_runs)
