"""Lookup of a chat's messages by the platform's id: what a reply quotes."""

from collections.abc import Sequence
from dataclasses import replace

from sophon.tools.untrusted_text import unfence_text
from sophon_channels.contract import InboundMessage
from sophon_hosting.channels.inbound.message_json import message_from_json
from sophon_hosting.runs.own_text import FOREIGN_SOURCES, PIECES
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

MAX_RUNS = 30
"""Runs of a session that are searched, newest first; a message of an older one is not found."""


class MessageLookup:
    """Messages of the newest runs of a session: those that started them, and what was sent for them."""

    def __init__(self, store: HostStore) -> None:
        self._store = store

    async def add_quotation(self, message: InboundMessage, session_id: str) -> InboundMessage:
        """Return the message with the text of the one that it replies to, if the platform states only its id."""
        if message.quoted_text or not message.quoted_message_id:
            return message
        found = await self.find_text(session_id, message.quoted_message_id)
        return message if found is None else replace(message, quoted_text=found[0], is_quote_foreign=found[1])

    async def find_text(self, session_id: str, message_id: str) -> tuple[str, bool] | None:
        """Return the text of a message, and whether neither the sender nor the bot wrote it; None if it is unknown."""
        for run in await self._runs(session_id):
            pieces = [message_from_json(each) for each in run.origin.get(PIECES, ())]
            piece = next((each for each in pieces if each.message_id == message_id), None)
            if piece is not None:
                return piece.text, piece.is_forwarded
            if run.origin.get("reply_to") == message_id:
                return unfence_text(run.text), bool(run.origin.get(FOREIGN_SOURCES))
            for entry in await self._store.outbox.list(run_id=run.id):
                if entry.platform_id == message_id:
                    return str(
                        entry.payload.get("text") or entry.payload.get("plain") or entry.payload.get("file_name") or ""
                    ), False
        return None

    async def _runs(self, session_id: str) -> Sequence[Run]:
        return await self._store.runs.list(session_id=session_id, limit=MAX_RUNS)
