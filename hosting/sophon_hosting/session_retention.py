"""Retention of sessions: those without anything new, and those in which goals worked that are forgotten."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Protocol

from sophon.errors import NotFound
from sophon.settings import Settings
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionStore

BATCH_SIZE = 100
"""Sessions and goals that are looked for at once; each is deleted in a transaction of its own."""


class SessionDeleter(Protocol):
    """Deletes sessions with all that belongs to them."""

    async def delete_session(self, session_id: str) -> None:
        """Delete a session. Raises NotFound."""
        ...

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        """Delete a session if it is idle, as `SessionStore.delete_idle` does; return whether it was deleted."""
        ...


class StoreSessions:
    """Deletes sessions in the store alone: for a process without a host, such as `sophon store prune`."""

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions

    async def delete_session(self, session_id: str) -> None:
        """See `SessionDeleter.delete_session`."""
        await self._sessions.delete(session_id)

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        """See `SessionDeleter.delete_idle_session`."""
        return await self._sessions.delete_idle(session_id, before)


class SessionRetention:
    """Deletes goals that ended `Goals.KeepDays` ago with the sessions they worked in, and sessions that nothing was
    added to for `Retention.Sessions` days.
    """

    def __init__(self, store: Store, settings: Settings, sessions: SessionDeleter) -> None:
        self._store, self._sessions = store, sessions
        self._days, self._goal_days = settings.retention.sessions, settings.goals.keep_days

    async def sweep(self, now: datetime) -> dict[str, int]:
        """Sweep once; return how many goals and sessions were deleted. Raises StoreUnavailable."""
        deleted: dict[str, int] = {}
        if self._goal_days is not None:
            deleted["goals"] = await self._delete_goals(now - timedelta(days=self._goal_days))
        if self._days is not None:
            deleted["sessions"] = await self._delete_sessions(now - timedelta(days=self._days))
        return deleted

    async def _delete_goals(self, before: datetime) -> int:
        """Delete goals that ended before a time. A goal is deleted with its first session of work, if there is one."""
        deleted = 0
        while expired := await self._store.goals.list_expired(before, BATCH_SIZE):
            for goal in expired:
                for session_id in goal.list_work_sessions():
                    with suppress(NotFound):  # a step runs in the first one that is free, so that most have no second
                        await self._sessions.delete_session(session_id)
                await self._store.goals.remove(goal.id)
            deleted += len(expired)
        return deleted

    async def _delete_sessions(self, before: datetime) -> int:
        deleted = 0
        while idle := await self._store.sessions.list_idle(before, BATCH_SIZE):
            results = [await self._sessions.delete_idle_session(each, before) for each in idle]
            deleted += sum(results)
            if not any(results):  # all of them have been used since
                break
        return deleted
