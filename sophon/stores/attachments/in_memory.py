"""In-memory attachments."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from sophon.attachments import Attachment
from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.stores.attachments.contract import StoredAttachment, TooManyBytes, check_usable


class InMemoryAttachmentStore:
    """The attachments of an `InMemoryStore`; see `AttachmentStore`. `has_session` tells whether a session exists."""

    def __init__(self, clock: Clock, has_session: Callable[[str], bool]) -> None:
        self._clock, self._has_session = clock, has_session
        self._rows: dict[str, StoredAttachment] = {}
        self._contents: dict[str, bytes] = {}

    async def add(
        self,
        attachment: Attachment,
        content: bytes,
        *,
        owner: str,
        max_total_bytes: int | None = None,
        session_id: str | None = None,
    ) -> StoredAttachment:
        """See `AttachmentStore.add`."""
        known = self._rows.get(attachment.id)
        if known is not None and known.owner != owner:
            raise NotFound("attachment", attachment.id)
        if session_id is not None and not self._has_session(session_id):
            raise NotFound("session", session_id)
        if known is None:
            stored = await self.count_bytes(owner)
            if max_total_bytes is not None and stored + attachment.size > max_total_bytes:
                raise TooManyBytes(stored, attachment.size, max_total_bytes)
            self._rows[attachment.id] = StoredAttachment(attachment, owner, self._clock.now())
            self._contents[attachment.id] = bytes(content)
        if session_id is not None:
            self.use(session_id, [attachment.id], owner)
        return self._rows[attachment.id]

    async def find(self, attachment_id: str) -> StoredAttachment | None:
        """See `AttachmentStore.find`."""
        return self._rows.get(attachment_id)

    async def read(self, attachment_id: str, *, session_id: str | None = None) -> bytes | None:
        """See `AttachmentStore.read`."""
        row = self._rows.get(attachment_id)
        if row is None or (session_id is not None and session_id not in row.sessions):
            return None
        return self._contents[attachment_id]

    async def list(self, owner: str) -> Sequence[StoredAttachment]:
        """See `AttachmentStore.list`."""
        return [row for row in self._rows.values() if row.owner == owner]

    async def count_bytes(self, owner: str) -> int:
        """See `AttachmentStore.count_bytes`."""
        return sum(row.attachment.size for row in self._rows.values() if row.owner == owner)

    async def remove_unsent(self, attachment_id: str, *, owner: str) -> bool:
        """See `AttachmentStore.remove_unsent`."""
        row = self._rows.get(attachment_id)
        if row is None or row.owner != owner or row.sessions:
            return False
        self._remove(attachment_id)
        return True

    async def expire(self, before: datetime) -> int:
        """See `AttachmentStore.expire`."""
        old = [name for name, row in self._rows.items() if not row.sessions and row.created_at < before]
        for attachment_id in old:
            self._remove(attachment_id)
        return len(old)

    def check(self, session_id: str, attachment_ids: Sequence[str], owner: str) -> None:
        """Raise NotFound unless each of these is a file of the owner, or one that the session uses already."""
        rows = [self._rows[name] for name in attachment_ids if name in self._rows]
        found = [(row.attachment.id, owner if session_id in row.sessions else row.owner) for row in rows]
        check_usable(attachment_ids, found, owner)

    def use(self, session_id: str, attachment_ids: Sequence[str], owner: str) -> None:
        """Note that a session uses files of its owner. Raises NotFound."""
        self.check(session_id, attachment_ids, owner)
        for attachment_id in attachment_ids:
            row = self._rows[attachment_id]
            if session_id not in row.sessions:
                self._rows[attachment_id] = replace(row, sessions=(*row.sessions, session_id))

    def copy_session(self, session_id: str, new_id: str) -> None:
        """Let a fork use the files of its source."""
        for attachment_id, row in self._rows.items():
            if session_id in row.sessions:
                self._rows[attachment_id] = replace(row, sessions=(*row.sessions, new_id))

    def change_owner(self, session_id: str, owner: str) -> None:
        """Give the files of a session to its new owner."""
        for attachment_id, row in self._rows.items():
            if session_id in row.sessions:
                self._rows[attachment_id] = replace(row, owner=owner)

    def forget_session(self, session_id: str) -> None:
        """Delete the files that only a deleted session used."""
        for attachment_id, row in list(self._rows.items()):
            if session_id in row.sessions:
                left = tuple(each for each in row.sessions if each != session_id)
                if left:
                    self._rows[attachment_id] = replace(row, sessions=left)
                else:
                    self._remove(attachment_id)

    def forget_person(self, person: str) -> int:
        """Delete the files of a person; return how many."""
        own = [name for name, row in self._rows.items() if row.owner == person]
        for attachment_id in own:
            self._remove(attachment_id)
        return len(own)

    def _remove(self, attachment_id: str) -> None:
        del self._rows[attachment_id], self._contents[attachment_id]
