"""Lookup of a chat's messages by the platform's id: what a reply quotes, and what a delivery status is about."""

from collections.abc import Sequence

from sophon.stores.contract import Store
from sophon.stores.outbox.contract import OutboundEntry
from sophon.stores.runs.contract import Run
from sophon.tools.untrusted_text import unfence_text
from sophon_hosting.run_authorship import FOREIGN_SOURCES

MAX_RUNS = 30
"""Runs of a session that are searched, newest first; a message of an older one is not found."""


class MessageLookup:
    """Messages of the newest runs of a session: those that started them, and what was sent for them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find_text(self, session_id: str, message_id: str) -> tuple[str, bool] | None:
        """Return the text of a message, and whether neither the sender nor the bot wrote it; None if it is unknown."""
        for run in await self._runs(session_id):
            if run.origin.get("reply_to") == message_id:
                return unfence_text(run.text), bool(run.origin.get(FOREIGN_SOURCES))
            for entry in await self._store.outbox.list(run_id=run.id):
                if entry.platform_id == message_id:
                    return str(entry.payload.get("text") or entry.payload.get("file_name") or ""), False
        return None

    async def find_sent(self, session_id: str, message_id: str) -> OutboundEntry | None:
        """Return the entry that was sent as this message, None if none of a run was."""
        for run in await self._runs(session_id):
            for entry in await self._store.outbox.list(run_id=run.id):
                if entry.platform_id == message_id:
                    return entry
        return None

    async def _runs(self, session_id: str) -> Sequence[Run]:
        return await self._store.runs.list(session_id=session_id, limit=MAX_RUNS)
