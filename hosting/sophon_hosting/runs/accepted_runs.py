"""Runs that were accepted just now: the worker that starts one at once does not read it from the store again."""

from collections import OrderedDict

from sophon.clock import Clock
from sophon.stores.runs.contract import Run

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
