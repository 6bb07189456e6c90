"""Rows that operations of several features are about: also those off the record, where the operation then runs."""

from sophon.stores.runs.contract import Run
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.operation import Subject


async def _find_session(caller: Caller, session_id: str) -> SessionSummary | None:
    return await caller.sessions.find_any(session_id)


async def _has_session(caller: Caller, session_id: str) -> bool:
    return await caller.has_own_session(session_id)


SESSION = Subject("session", "session_id", _find_session, lambda session: session.owner, _has_session)
"""Session by the id that the client knows. The row has the id under which it is stored."""


async def _find_task(caller: Caller, task_id: str) -> Run | None:
    return await caller.store.runs.find(task_id)


async def _has_task(caller: Caller, task_id: str) -> bool:
    run = await _find_task(caller, task_id)
    return run is not None and run.owner == caller.user.id


TASK = Subject("task", "task_id", _find_task, lambda run: run.owner, _has_task)
