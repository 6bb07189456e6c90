"""Fences of runs: in the name of which start of a run something is written."""

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import StaleRun


@dataclass(frozen=True, slots=True)
class RunFence:
    """In whose name something is written: the start number `start` of a run (`Run.starts`).

    The store refuses the whole transaction with StaleRun if the run has started again since.
    """

    run_id: str
    start: int


def check_start(run_id: str, start: int, starts: int) -> None:
    """Raise StaleRun if a run with so many starts has started again since that start."""
    if start != starts:
        raise StaleRun(run_id, start)
