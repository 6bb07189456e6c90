"""Attachments of a user: files that are uploaded before the message that names them."""

from collections.abc import Sequence
from functools import partial

from sophon.attachment_inspection import check_attachment_count, check_enabled, inspect_file
from sophon.attachments import Attachment
from sophon.errors import InputError, NotFound
from sophon.security.permission_levels import FULL_HISTORY
from sophon.settings import AttachmentsSettings
from sophon.stores.attachments.contract import KEEP_UNSENT, StoredAttachment
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.user_sessions import validate_id

MAX_BYTES_OFF_THE_RECORD = 50_000_000
"""Bytes of one person's files in conversations off the record, which are in memory."""


class AttachmentInUse(InputError):
    """Error: the file is part of a sent message, and goes with its conversation (code `attachment_in_use`)."""

    code = "attachment_in_use"

    def __init__(self, attachment_id: str) -> None:
        super().__init__(f"the file {attachment_id!r} belongs to a message; delete the conversation instead")


class UserAttachments:
    """The files of one user, on one host: stored, or off the record."""

    def __init__(self, access: Caller, *, is_off_the_record: bool = False) -> None:
        self._access, self._store = access, access.store.attachments
        self._is_off_the_record = is_off_the_record

    @property
    def settings(self) -> AttachmentsSettings:
        """The limits of the host."""
        return self._access.host.services.settings.attachments

    def check_upload(self) -> None:
        """Raise LevelNeeded or ScopeNeeded for a user who may not send messages, InputError if files are not taken."""
        self._access.rights.require("Chat")
        check_enabled(self.settings)

    async def add(self, name: str, content: bytes) -> StoredAttachment:
        """Check and store a file. Raises what `inspect_file` raises, and TooManyBytes."""
        self.check_upload()
        services, settings = self._access.host.services, self.settings
        inspect = partial(
            inspect_file, content, name, services.clock.new_id(), settings, services.gateway.tokens.count_text
        )
        attachment = await services.clock.run_in_thread(inspect)
        most = settings.max_total_bytes
        if self._is_off_the_record:
            most = min(most, MAX_BYTES_OFF_THE_RECORD)
            await self._store.expire(services.clock.now() - KEEP_UNSENT)
        return await self._store.add(attachment, content, owner=self._access.user.id, max_total_bytes=most)

    async def list(self) -> Sequence[StoredAttachment]:
        """Return the user's own files, oldest first."""
        self._access.rights.require_scope("Read")
        return await self._store.list(self._access.user.id)

    async def find(self, attachment_id: str) -> StoredAttachment:
        """Return a file that the user may read: their own, or, for operators who see everything, that of a message.

        Raises NotFound.
        """
        self._access.rights.require_scope("Read")
        found = await self._store.find(attachment_id)
        if found is None or not self._may_read(found):
            raise NotFound("attachment", attachment_id)
        return found

    async def read(self, attachment_id: str) -> tuple[Attachment, bytes]:
        """Return a file that the user may read, with its bytes. Raises NotFound."""
        found = await self.find(attachment_id)
        content = await self._store.read(attachment_id)
        if content is None:  # deleted meanwhile
            raise NotFound("attachment", attachment_id)
        return found.attachment, content

    async def remove(self, attachment_id: str) -> None:
        """Delete one of the user's files that no message has. Raises NotFound, AttachmentInUse."""
        self._access.rights.require("Chat")
        if await self._store.remove_unsent(attachment_id, owner=self._access.user.id):
            return
        found = await self._store.find(attachment_id)
        if found is None or found.owner != self._access.user.id:
            raise NotFound("attachment", attachment_id)
        raise AttachmentInUse(attachment_id)

    async def resolve(self, attachment_ids: Sequence[str]) -> Sequence[Attachment]:
        """Return the user's own files for a message, each once. Raises InputError, NotFound."""
        wanted = list(dict.fromkeys(attachment_ids))
        check_attachment_count(len(wanted), self.settings)
        resolved: list[Attachment] = []
        for attachment_id in wanted:
            validate_id("attachments", attachment_id)
            found = await self._store.find(attachment_id)
            if found is None or found.owner != self._access.user.id:
                raise NotFound("attachment", attachment_id)
            resolved.append(found.attachment)
        return resolved

    def _may_read(self, found: StoredAttachment) -> bool:
        user, rights = self._access.user, self._access.rights
        is_reader = user.operator and rights.has_scope("Operator") and rights.allows(FULL_HISTORY)
        return found.owner == user.id or (is_reader and bool(found.sessions) and not self._is_off_the_record)
