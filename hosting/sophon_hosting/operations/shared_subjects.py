"""Rows that operations of several features are about: also those off the record, where the operation then runs."""

from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.operation import Subject
from sophon_hosting.store.runs.contract import Run

SESSION: Subject[SessionSummary] = Subject(
    "session",
    "session_id",
    lambda caller, row: caller.sessions.find_any(row),
    lambda session: session.owner,
    lambda off, row: off.has_own_session(row),
)
"""Session by the id that the client knows. The row has the id under which it is stored."""


async def _has_task(off: Caller, task_id: str) -> bool:
    run = await off.store.runs.find(task_id)
    return run is not None and run.owner == off.user.id


TASK: Subject[Run] = Subject(
    "task", "task_id", lambda caller, row: caller.store.runs.find(row), lambda run: run.owner, _has_task
)
