"""`/api/attachments`: upload, download, list and delete files of messages."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import quote

from aiohttp import hdrs, web

from sophon.attachment_inspection import MAX_PER_MESSAGE, FileTooLarge
from sophon.attachments import DEFAULT_NAME, clean_name
from sophon.errors import InputError, NotFound, SophonError
from sophon_hosting.client_api.areas.attachments import UserAttachments
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.features.attachments.results import (
    AttachmentList,
    UploadedAttachment,
    stored_attachment_to_json,
)
from sophon_hosting.http.connections.request_limits import UPLOAD_PATH
from sophon_hosting.http.json_io import RequestQuery, get_authorized_host, json_response, parse_query
from sophon_hosting.http.uploads import CHUNK_BYTES, read_upload
from sophon_hosting.queue.errors import TryLater

MAX_CONCURRENT_UPLOADS = 4
"""Uploads of one user at the same time: each is in memory as a whole before it is stored."""

DOWNLOAD_CONTENT_SECURITY_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""For a browser that shows a file in spite of `Content-Disposition`: nothing in it runs."""


class TooManyUploads(TryLater):
    """Error: the user has `MAX_CONCURRENT_UPLOADS` uploads that have not ended (code `too_many_uploads`)."""

    code = "too_many_uploads"

    def __init__(self) -> None:
        self.retry_after_seconds = 1
        SophonError.__init__(self, f"at most {MAX_CONCURRENT_UPLOADS} files are uploaded at a time; wait for one")


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


UPLOADS = web.AppKey("uploads", UploadSlots)


class UploadQuery(RequestQuery):
    """Query of an upload: the name of the file, and `otr` for a message off the record."""

    name: str = DEFAULT_NAME
    mode: Literal["normal", "otr"] = "normal"


routes = web.RouteTableDef()


@routes.post(UPLOAD_PATH)
async def upload_attachment(request: web.Request) -> web.Response:
    """Store the body as a file, with 201; it is there whole or not at all.

    Raises InputError, FileTooLarge (before the rest is read), UnsupportedMediaType, TooManyBytes, TooManyUploads.
    """
    query, authorized_host = parse_query(request, UploadQuery), get_authorized_host(request)
    files = _attachments_off_the_record(authorized_host) if query.mode == "otr" else authorized_host.attachments
    files.check_upload()
    with request.app[UPLOADS].reserve(authorized_host.user.id):
        limit = files.settings.max_bytes
        content = await read_upload(request, limit, FileTooLarge(clean_name(query.name), limit))
        stored = await files.add(query.name, content)
    uploaded: UploadedAttachment = {"attachment": stored_attachment_to_json(stored)}
    return json_response({"ok": True, **uploaded}, 201)


@routes.get(UPLOAD_PATH)
async def list_attachments(request: web.Request) -> web.Response:
    """List the files of the user, oldest first, with the limits."""
    files = get_authorized_host(request).attachments
    found, settings = await files.list(), files.settings
    listed: AttachmentList = {
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
    return json_response(listed)


@routes.get(f"{UPLOAD_PATH}/{{attachment_id}}")
async def download_attachment(request: web.Request) -> web.StreamResponse:
    """Return the bytes of a file, always as a download. Raises NotFound."""
    files = await _find_owner(request)
    attachment, content = await files.read(request.match_info["attachment_id"])
    response = web.StreamResponse(
        headers={
            hdrs.CONTENT_DISPOSITION: content_disposition(attachment.name),
            "Content-Security-Policy": DOWNLOAD_CONTENT_SECURITY_POLICY,
        }
    )
    response.content_type, response.content_length = attachment.media_type, len(content)
    if attachment.is_text:
        response.charset = "utf-8"
    await response.prepare(request)
    if request.method != hdrs.METH_HEAD:
        for start in range(0, len(content), CHUNK_BYTES):
            await response.write(content[start : start + CHUNK_BYTES])
    return response


@routes.delete(f"{UPLOAD_PATH}/{{attachment_id}}")
async def delete_attachment(request: web.Request) -> web.Response:
    """Delete a file that no message has. Raises NotFound, AttachmentInUse."""
    files = await _find_owner(request)
    await files.remove(request.match_info["attachment_id"])
    return json_response({"ok": True})


def content_disposition(name: str) -> str:
    """Return the header of a download under a name, in the two forms of RFC 6266."""
    plain = "".join(char if char.isascii() and char not in '"\\%;' else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


async def _find_owner(request: web.Request) -> UserAttachments:
    """Return the user's files off the record if the one in the path is there, else those that are stored."""
    authorized_host = get_authorized_host(request)
    off = authorized_host.off_the_record
    if off is not None:
        try:
            await off.attachments.find(request.match_info["attachment_id"])
        except NotFound:
            return authorized_host.attachments
        return off.attachments
    return authorized_host.attachments


def _attachments_off_the_record(authorized_host: AuthorizedHost) -> UserAttachments:
    if authorized_host.off_the_record is None:
        raise InputError("this host has no conversations off the record")
    return authorized_host.off_the_record.attachments
