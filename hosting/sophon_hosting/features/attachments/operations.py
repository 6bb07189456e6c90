"""Operations on attachments: files that are uploaded before the message that names them; list, download, delete."""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Final

from sophon.attachment_inspection import (
    MAX_PER_MESSAGE,
    FileTooLarge,
    UnsupportedMediaType,
    check_attachment_count,
    check_enabled,
    inspect_file,
)
from sophon.attachments import DEFAULT_NAME, Attachment, clean_name
from sophon.errors import InputError, NotFound, SophonError
from sophon.security.authorization.permission_levels import FULL_HISTORY
from sophon.stores.attachments.stored_attachment import KEEP_UNSENT, StoredAttachment, TooManyBytes
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_message import Mode
from sophon_hosting.client_api.operation_reply import File
from sophon_hosting.client_api.user_sessions import validate_id
from sophon_hosting.features.attachments.results import (
    AttachmentList,
    UploadedAttachment,
    stored_attachment_to_json,
)
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, NoFields, Request, Upload
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table
from sophon_hosting.queue.errors import TryLater

table = Table("attachments")

MAX_CONCURRENT_UPLOADS: Final = 4
"""Uploads of one user at the same time: each is in memory as a whole before it is stored."""

MAX_BYTES_OFF_THE_RECORD: Final = 50_000_000
"""Bytes of one person's files in conversations off the record, which are in memory."""

DOWNLOAD_CONTENT_SECURITY_POLICY: Final = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""For a browser that shows a file in spite of `Content-Disposition`: nothing in it runs."""


class TooManyUploads(TryLater):
    """Error: the user has `MAX_CONCURRENT_UPLOADS` uploads that have not ended (code `too_many_uploads`)."""

    code = "too_many_uploads"

    def __init__(self) -> None:
        self.retry_after_seconds = 1
        SophonError.__init__(self, f"at most {MAX_CONCURRENT_UPLOADS} files are uploaded at a time; wait for one")


class AttachmentInUse(InputError):
    """Error: the file is part of a sent message, and goes with its conversation (code `attachment_in_use`)."""

    code = "attachment_in_use"

    def __init__(self, attachment_id: str) -> None:
        super().__init__(f"the file {attachment_id!r} belongs to a message; delete the conversation instead")


class UploadSlots:
    """Counter of the uploads in progress by user."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    @contextmanager
    def reserve(self, user_id: str) -> Generator[None]:
        """Hold a slot while a file is read and stored. Raises TooManyUploads."""
        if self._used[user_id] >= MAX_CONCURRENT_UPLOADS:
            raise TooManyUploads
        self._used[user_id] += 1
        try:
            yield
        finally:
            self._used[user_id] -= 1
            if not self._used[user_id]:
                del self._used[user_id]


async def _find(caller: Caller, attachment_id: str) -> StoredAttachment | None:
    """Return a file; of those of others, an operator who sees everything finds the ones that a message has."""
    found, user, rights = await caller.store.attachments.find(attachment_id), caller.user, caller.rights
    if found is not None and found.owner != user.id and user.operator:
        is_reader = rights.has_scope("Operator") and rights.allows(FULL_HISTORY)
        return found if is_reader and found.sessions and not caller.is_off_the_record else None
    return found


async def _is_off_the_record(off: Caller, attachment_id: str) -> bool:
    found = await off.store.attachments.find(attachment_id)
    return found is not None and found.owner == off.user.id


ATTACHMENT = Subject("attachment", "attachment_id", _find, lambda found: found.owner, _is_off_the_record)
OWN_ATTACHMENT = replace(ATTACHMENT, is_owners_alone=True)


class NewAttachment(Request):
    """A file for a message; with mode `otr` for one off the record."""

    file: Upload
    name: Annotated[str, Doc("Name of the file.")] = DEFAULT_NAME
    mode: Mode = "normal"


class NamedAttachment(Request):
    """A file by its id."""

    attachment_id: str


@table.operation(
    "POST /api/attachments",
    needs="Chat",
    status=201,
    ok=True,
    errors=(FileTooLarge, UnsupportedMediaType, TooManyBytes, TooManyUploads),
    upload_bytes=lambda settings: settings.attachments.max_bytes,
)
async def upload_attachment(caller: Caller, request: NewAttachment) -> UploadedAttachment:
    """Store the body as a file; it is there whole or not at all."""
    host = caller.off_the_record if request.mode == "otr" else caller
    if host is None:
        raise InputError("this host has no conversations off the record")
    settings = host.settings.attachments
    check_enabled(settings)
    with caller.process.part(UploadSlots, UploadSlots).reserve(caller.user.id):
        limit = settings.max_bytes
        content = await request.file.read(limit, FileTooLarge(clean_name(request.name), limit))
        stored = await _add(host, request.name, content)
    return {"attachment": stored_attachment_to_json(stored)}


@table.operation("GET /api/attachments", needs="Read")
async def list_attachments(caller: Caller, request: NoFields) -> AttachmentList:
    """List the files of the user, oldest first, with the limits."""
    found, settings = await caller.store.attachments.list(caller.user.id), caller.settings.attachments
    return {
        "items": [stored_attachment_to_json(each) for each in found],
        "total_bytes": sum(each.attachment.size for each in found),
        "limits": {
            "enabled": settings.enabled,
            "max_bytes": settings.max_bytes,
            "max_per_message": MAX_PER_MESSAGE,
            "max_total_bytes": settings.max_total_bytes,
            "media_types": list(settings.media_types),
        },
    }


@table.operation("GET /api/attachments/{attachment_id}", needs="Read", on=ATTACHMENT)
async def download_attachment(caller: Caller, request: NamedAttachment, found: StoredAttachment) -> File:
    """Return the bytes of a file, always as a download; operators with FullHistory read those of every message."""
    content, attachment = await caller.store.attachments.read(request.attachment_id), found.attachment
    if content is None:  # deleted meanwhile
        raise NotFound("attachment", request.attachment_id)
    return File(content, attachment.media_type, attachment.name, attachment.is_text, DOWNLOAD_CONTENT_SECURITY_POLICY)


@table.operation(
    "DELETE /api/attachments/{attachment_id}", needs="Chat", on=OWN_ATTACHMENT, ok=True, errors=(AttachmentInUse,)
)
async def delete_attachment(caller: Caller, request: NamedAttachment, found: StoredAttachment) -> Done:
    """Delete a file that no message has."""
    if await caller.store.attachments.remove_unsent(request.attachment_id, owner=caller.user.id):
        return {}
    if await caller.store.attachments.find(request.attachment_id) is None:  # deleted meanwhile
        raise NotFound("attachment", request.attachment_id)
    raise AttachmentInUse(request.attachment_id)


async def resolve_attachments(caller: Caller, attachment_ids: Sequence[str]) -> Sequence[Attachment]:
    """Return the user's own files for a message, each once. Raises InputError, NotFound."""
    wanted = list(dict.fromkeys(attachment_ids))
    check_attachment_count(len(wanted), caller.settings.attachments)
    resolved: list[Attachment] = []
    for attachment_id in wanted:
        validate_id("attachments", attachment_id)
        found = await caller.store.attachments.find(attachment_id)
        if found is None or found.owner != caller.user.id:
            raise NotFound("attachment", attachment_id)
        resolved.append(found.attachment)
    return resolved


async def _add(caller: Caller, name: str, content: bytes) -> StoredAttachment:
    settings, clock = caller.settings.attachments, caller.clock
    count_tokens = caller.host.services.gateway.tokens.count_text
    attachment = await clock.run_in_thread(partial(inspect_file, content, name, clock.new_id(), settings, count_tokens))
    most, attachments = settings.max_total_bytes, caller.store.attachments
    if caller.is_off_the_record:
        most = min(most, MAX_BYTES_OFF_THE_RECORD)
        await attachments.expire(clock.now() - KEEP_UNSENT)
    return await attachments.add(attachment, content, owner=caller.user.id, max_total_bytes=most)
