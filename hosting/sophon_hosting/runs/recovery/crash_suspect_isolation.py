"""Isolation of crash suspects: a task that may kill its process runs beside no other such task."""

from collections.abc import Generator
from contextlib import contextmanager

from sophon_hosting.queue.contract import Delivery

MAX_LOST_DELIVERIES = 2
"""Deliveries that a task may lose before it is a suspect, which may be what ends its workers: processes also die
without any fault of their tasks.
"""

POSTPONED_SECONDS = 1.0
"""Time after which a suspect that could not run is delivered again, perhaps to another process."""


class CrashSuspects:
    """Lets one suspect run at a time in this process: a task with more than `MAX_LOST_DELIVERIES` lost deliveries.

    What kills its process takes the tasks beside it along, and their deliveries end at the same time, so that one
    process would take them all together again, until the queue gives up all of them. The innocent ones are alone with
    the next process instead, or run after the guilty one was given up.
    """

    def __init__(self) -> None:
        self._suspects: set[str] = set()

    def admits(self, delivery: Delivery) -> bool:
        """Return whether the delivery of a suspect may run now; False beside another one."""
        return not self._suspects - {delivery.entry.task_id}

    @contextmanager
    def run(self, delivery: Delivery) -> Generator[None]:
        """Count the delivery of a suspect that runs."""
        self._suspects.add(delivery.entry.task_id)
        try:
            yield
        finally:
            self._suspects.discard(delivery.entry.task_id)
