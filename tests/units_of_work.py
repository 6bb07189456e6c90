"""Units of work as the turns of a host make them: writes that repositories collect."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

from sophon.approvals import ApprovalRequest
from sophon.stores.sql.approval_requests import insert_request
from sophon.stores.sql.turn_repository import TurnRepository
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.stores.tool_call_journal.sql import put_entry
from sophon.stores.unit_of_work import Write, WriteKind


async def collect(repository: object, write: Callable[..., Awaitable[object]]) -> list[Write]:
    """Return what `write` writes to a repository of an SQL store, without storing it."""
    assert isinstance(repository, TurnRepository)
    writes: list[Write] = []
    await write(repository.collecting(writes.append))
    return writes


def call_write(run_id: str, entry: JournalEntry) -> Write:
    return Write(WriteKind.CALL, partial(put_entry, run_id=run_id, entry=entry))


def approval_write(request: ApprovalRequest, at: datetime) -> Write:
    return Write(WriteKind.APPROVAL, partial(insert_request, request=request, at=at))
