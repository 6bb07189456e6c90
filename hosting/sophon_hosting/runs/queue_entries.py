"""Queue entries of runs, the event that reports one, and whether a suspended run has a reason to be enqueued."""

from sophon.errors import NotFound
from sophon.events import TaskQueued
from sophon_hosting.queue.contract import EntryKind, QueueEntry
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import PendingRun, Run


async def has_decision(store: HostStore, run: Run) -> bool:
    """Return whether a suspended run can resume: an approval was decided, or is missing and must be requested again."""
    for approval_id in run.waiting_for:
        try:
            record = await store.approvals.get(approval_id)
        except NotFound:
            return True
        if record.decision is not None:
            return True
    return not run.waiting_for


def build_task_queued_event(run: Run, position: int) -> TaskQueued:
    """Return the `TaskQueued` event of an accepted run."""
    return TaskQueued(
        session_id=run.session_id,
        task_id=run.id,
        run_id=run.id,
        position=position,
        text=run.text,
        attachments=run.options.get("attachments") or (),
    )


def build_queue_entry(run: Run | PendingRun, kind: EntryKind = "run", delivered_before: int = 0) -> QueueEntry:
    """Return the queue entry of a run; it waits in the share and the turn of the run's owner."""
    return QueueEntry(run.id, run.session_id, kind, run.owner, delivered_before)
