"""Units of work as the turns of a host make them: writes that repositories collect."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from sophon.approvals import ApprovalRequest
from sophon.stores.contract import Store
from sophon.stores.sql.repository import Repository
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.stores.tool_call_journal.sql import put_entry
from sophon.stores.unit_of_work import UnitOfWork, Write, WriteKind
from sophon_hosting.store.approval_writes import insert_request
from sophon_hosting.store.runs.contract import LogWrite
from sophon_hosting.store.runs.sql_transactions import checkpoint_write


class _Collecting:
    """The database of a turn, as far as repositories write to it."""

    def __init__(self) -> None:
        self.writes: list[Write] = []

    async def add(self, kind: WriteKind, work: Callable[[Connection], object]) -> None:
        self.writes.append(Write(kind, work))


async def collect(repository: object, write: Callable[..., Awaitable[object]]) -> list[Write]:
    """Return what `write` writes to a repository of an SQL store, without storing it."""
    assert isinstance(repository, Repository)
    collecting = _Collecting()
    await write(repository.over(lambda database: collecting))
    return collecting.writes


async def store_checkpoint(store: Store, run_id: str, state: Mapping[str, Any], logs: Sequence[LogWrite] = ()) -> None:
    """Store a checkpoint in a transaction of its own."""
    session_id = (await store.runs.get(run_id)).session_id
    await store.runs.record(session_id, UnitOfWork([checkpoint_write(run_id, state, logs)]), [])


def call_write(run_id: str, entry: JournalEntry) -> Write:
    return Write(WriteKind.CALL, partial(put_entry, run_id=run_id, entry=entry))


def approval_write(request: ApprovalRequest, at: datetime) -> Write:
    return Write(WriteKind.APPROVAL, partial(insert_request, request=request, at=at))
