"""Fences of runs: in the name of which start of a run something is written, and what a start may not write."""

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SophonError


class StaleRun(SophonError):
    """A start of a run wrote something after the run was continued elsewhere; nothing of it was stored.

    `start` is the number of the start. Trying again is of no use: what the start does has no effect any more.
    """

    code = "stale_run"

    def __init__(self, run_id: str, start: int) -> None:
        self.run_id, self.start = run_id, start
        super().__init__(f"start {start} of run {run_id} can write nothing: the run was continued elsewhere")


@dataclass(frozen=True, slots=True)
class RunFence:
    """In whose name something is written: the start number `start` of a run (`Run.starts`).

    The store refuses the whole transaction with StaleRun if the run has started again since.
    """

    run_id: str
    start: int
