"""Queue entries of runs: what the queue knows of a run."""

from sophon.stores.runs.contract import PendingRun, Run
from sophon_hosting.queue.contract import EntryKind, QueueEntry


def build_queue_entry(run: Run | PendingRun, kind: EntryKind = "run", delivered_before: int = 0) -> QueueEntry:
    """Return the queue entry of a run; it waits in the share and the turn of the run's owner."""
    return QueueEntry(run.id, run.session_id, kind, run.owner, delivered_before)
