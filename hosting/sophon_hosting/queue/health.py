"""Health of a task queue: whether its server answered last, for logs, probes, metrics and decisions."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from sophon.clock import Clock
from sophon_hosting.queue.errors import QueueUnavailable

log = logging.getLogger("sophon")


class QueueHealth:
    """Whether a queue can be reached, as its last operation has shown; a change is logged once, not per operation.

    Messages are accepted and running turns go on while it cannot: the store has the runs, and the reconciler enqueues
    them afterwards.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = 0.0
        self.reason = ""
        """Why the queue cannot be reached; empty while it can."""
        self.failures = 0
        """Number of operations that failed because the queue could not be reached."""
        self.is_available = True
        """Whether the last operation reached the queue; True before the first one."""

    @contextmanager
    def watch(self) -> Generator[None]:
        """Note whether the operation of the block reaches the queue; its errors propagate."""
        try:
            yield
        except QueueUnavailable as error:
            self.note_failure(error)
            raise
        if not self.is_available:
            self._note_success()

    def note_failure(self, error: QueueUnavailable) -> None:
        """Note an operation that did not reach the queue."""
        self.failures += 1
        if self.is_available:
            self._since = self._clock.monotonic()
            log.error("%s; messages are accepted and wait in the store, running turns go on", error)
            self.is_available = False
        self.reason = error.reason or "no reason was given"

    def _note_success(self) -> None:
        log.warning("the queue can be reached again after %.0f s", self._clock.monotonic() - self._since)
        self.is_available, self.reason = True, ""
