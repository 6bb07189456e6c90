"""Giving up of runs: one that kept ending its worker, so that it reached no outcome in so many deliveries, has failed.

Its queue has put the entry aside as a dead letter by then, which an operator may enqueue again.
"""

from sophon_hosting.runs.abnormal_termination import RunAborted, RunTerminator
from sophon_hosting.store.runs.contract import RunStore


async def give_up_run(runs: RunStore, terminator: RunTerminator, task_id: str, count: int) -> None:
    """Record as failed a run that reached no outcome in so many deliveries, unless it has one or was deleted.

    Raises StoreError.
    """
    run = await runs.find(task_id)
    if run is not None and not run.is_finished:
        await terminator.fail_inactive(run, RunAborted("gave_up", f"the task reached no outcome in {count} attempts"))
