"""Bounds on what one person keeps, for conversations that begin without a message: forks, branches, imports, joins.

Each costs a request and no turn, so that nothing else would bound them.
"""

from typing import Final

from sophon.errors import InputError
from sophon.stores.sessions.contract import SessionStore, SessionTotals

MAX_SESSIONS: Final = 10_000
"""Conversations of one person, branches included, beyond which none is copied."""

MAX_RECORDS: Final = 1_000_000
"""Messages, calls and results in all of them, beyond which none is copied."""


async def check_room_for_copy(sessions: SessionStore, owner: str, records: int) -> None:
    """Raise InputError if a copy with so many records would exceed the bounds of its owner."""
    found = find_excess(await sessions.count(owner), records)
    if found is not None:
        raise InputError(f"the conversation cannot be copied: {found}")


async def check_room_for_session(sessions: SessionStore, owner: str) -> None:
    """Raise InputError if the owner has as many conversations as one may begin without a message."""
    found = find_excess(await sessions.count(owner), 0)
    if found is not None:
        raise InputError(f"no conversation can begin without a message: {found}")


def find_excess(totals: SessionTotals, records: int) -> str | None:
    """Return why no copy with so many records may be stored beside what an owner has; None if it may."""
    if totals.sessions >= MAX_SESSIONS:
        return f"there are {MAX_SESSIONS:,} conversations, branches included; delete some first"
    if totals.records + records > MAX_RECORDS:
        return f"with it there would be more than {MAX_RECORDS:,} messages and calls; delete some conversations first"
    return None
