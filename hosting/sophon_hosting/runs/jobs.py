"""The runs that this process has in hand at the moment, and who wants them ended."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from sophon.context import Context
from sophon.stores.run_contracts import Run


@dataclass(slots=True, eq=False)
class Job:
    """A run in the hands of a worker.

    `asked` are the approvals that were put to people in this pass and have no answer. `ending` is True from the moment
    that its outcome, or its suspension, is written: nothing cuts it off then. `concluded` is True once the outcome is
    in the store, `suspended` once the suspension is, `unwritten` when the store did not take an outcome. `over` is set
    when it is out of hand.
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
        """A person wants it to end."""
        if not self.cancel_wanted:
            self.cancel_wanted = True
            self._cut_off()

    def stop(self) -> None:
        """The process is about to end; what is not done is left to the next one."""
        if not self.stopping:
            self.stopping = True
            self._cut_off()

    def end(self) -> None:
        """Its outcome is about to be written: no limit and nobody's wish comes in between."""
        self.ending = True
        if self.limit is not None and not self.limit.expired():
            self.limit.reschedule(None)

    def _cut_off(self) -> None:
        if self.work is not None and not self.ending:
            self.work.cancel()


class Jobs:
    """By task id; as many as there are takers."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    def add(self, job: Job) -> None:
        """It is in hand."""
        self._jobs[job.task_id] = job

    def discard(self, job: Job) -> None:
        """It is out of hand; whoever waits for that goes on."""
        del self._jobs[job.task_id]
        job.over.set()

    def get(self, task_id: str) -> Job | None:
        """The job of a task, or None."""
        return self._jobs.get(task_id)

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs.values()))

    def __len__(self) -> int:
        return len(self._jobs)
