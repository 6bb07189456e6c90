"""Checks before a session, or a part of it, is copied: for a fork, and for a branch that a message begins."""

from collections.abc import Sequence
from typing import Final

from sophon.errors import Busy, InputError, NotFound
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon.stores.sessions.copy_limits import check_room_for_copy
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.store.contract import HostStore

NO_BRANCHES: Final = "a conversation off the record is not copied and has no branches: nothing of it is stored"

_AFTER_THE_LAST: Final = 2**62
"""A seq that no record reaches."""


async def check_is_copied(caller: Caller, session_id: str) -> None:
    """Raise InputError for a conversation off the record."""
    off = caller.off_the_record
    if off is not None and await off.has_own_session(session_id):
        raise InputError(NO_BRANCHES)


async def check_room(store: HostStore, source: SessionSummary, up_to_seq: int | None) -> None:
    """Raise InputError if a copy of the records up to a seq, None: all, is more than the owner may have."""
    last = await store.sessions.list_records(source.id, before=_AFTER_THE_LAST, limit=1)
    records = last[0].seq if last else 0
    await check_room_for_copy(store.sessions, source.owner, records if up_to_seq is None else min(up_to_seq, records))


async def find_turn(store: HostStore, session: SessionSummary, task_id: str) -> Sequence[SessionRecord]:
    """Return the records of a task in a session, which may be a copy. Raises NotFound, Busy."""
    turn = await store.sessions.list_turn(session.id, task_id) if task_id else []
    run = await store.runs.find(task_id)
    if run is not None and not run.is_finished and (turn or run.session_id == session.id):
        raise unfinished(task_id)
    if not turn:
        raise NotFound("task", task_id)
    return turn


def unfinished(task_id: str) -> Busy:
    """Return the error for a task that has no outcome yet."""
    return Busy(f"task {task_id!r} has no outcome yet; stop it, or wait until it has ended")
