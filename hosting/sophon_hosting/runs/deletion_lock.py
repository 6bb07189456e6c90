"""Deletion lock: a session is not deleted while a message for it is accepted, nor the other way round."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import field

from sophon._python.lazy_dataclass import dataclass


@dataclass(slots=True)
class _Deletion:
    may_begin: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class DeletionLock:
    """Shared lock for acceptances and exclusive lock for the deletion, per session id.

    Otherwise a message could be accepted between the end of the session's last task and the deletion of the session,
    and would be answered in the session that somebody else creates under that id.
    """

    def __init__(self) -> None:
        self._accepting: Counter[str] = Counter()
        self._deletions: dict[str, _Deletion] = {}

    @asynccontextmanager
    async def accepting(self, session_id: str) -> AsyncGenerator[None]:
        """Hold while a message for the session is accepted; waits until a deletion has ended."""
        while (deletion := self._deletions.get(session_id)) is not None:
            await deletion.ended.wait()
        self._accepting[session_id] += 1
        try:
            yield
        finally:
            self._accepting[session_id] -= 1
            if not self._accepting[session_id]:
                del self._accepting[session_id]
                if (waiting := self._deletions.get(session_id)) is not None:
                    waiting.may_begin.set()

    @asynccontextmanager
    async def deleting(self, session_id: str) -> AsyncGenerator[None]:
        """Hold while the session is deleted; waits until the messages that are being accepted are."""
        while (other := self._deletions.get(session_id)) is not None:
            await other.ended.wait()
        deletion = self._deletions[session_id] = _Deletion()
        try:
            if session_id in self._accepting:
                await deletion.may_begin.wait()
            yield
        finally:
            del self._deletions[session_id]
            deletion.ended.set()

    def __len__(self) -> int:
        """Return the number of sessions that are locked."""
        return len(self._accepting.keys() | self._deletions.keys())
