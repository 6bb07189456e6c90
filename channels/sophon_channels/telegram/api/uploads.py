"""File uploads to Telegram: as a photo if the app can show it, else as a document."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from sophon_channels.outbound_file import OutboundFile
from sophon_channels.telegram.api import request_bodies
from sophon_channels.telegram.api.errors import TelegramApiError, is_parse_error, is_photo_rejected
from sophon_channels.telegram.api.transport import BotApiTransport, FileUpload

MEGABYTE = 1024 * 1024
MAX_UPLOAD_BYTES = 50 * MEGABYTE
"""Maximum size of an upload, in bytes."""
MAX_LOCAL_UPLOAD_BYTES = 2000 * MEGABYTE
"""Maximum size of an upload to a server with `--local`, in bytes. Source: core.telegram.org/bots/api, local server."""
MAX_PHOTO_BYTES = 10 * MEGABYTE
"""Bytes. Source: reference/channels.md, "Files"."""

PHOTO_MEDIA_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
"""Media types that are sent as a photo."""

UPLOAD_TIMEOUT_SECONDS = 300.0

UploadKind = Literal["photo", "document"]
METHOD_BY_KIND: Mapping[UploadKind, str] = {"photo": "sendPhoto", "document": "sendDocument"}


def find_max_upload_bytes(*, is_local: bool) -> int:
    """Return the maximum size of an upload in bytes. Pure."""
    return MAX_LOCAL_UPLOAD_BYTES if is_local else MAX_UPLOAD_BYTES


async def upload_file(
    transport: BotApiTransport, file: OutboundFile, chat_key: str, payload: Mapping[str, Any], *, is_repeat: bool
) -> Any:
    """Upload a payload with a file; return the message. Raises `TelegramApiError`; ChannelError if the file cannot be
    read.

    An image that Telegram rejects as a photo is sent again as a document, and a caption that it cannot parse as plain
    text.
    """
    size = await transport.run_in_thread(partial(file.check_size, find_max_upload_bytes(is_local=transport.is_local)))
    kind: UploadKind = "photo" if file.media_type in PHOTO_MEDIA_TYPES and size <= MAX_PHOTO_BYTES else "document"
    as_html = bool(payload.get("html"))
    while True:
        fields = request_bodies.build_send_file(chat_key, payload, kind, as_html=as_html, is_repeat=is_repeat)
        try:
            return await _upload(transport, file, METHOD_BY_KIND[kind], fields)
        except TelegramApiError as error:
            if kind == "photo" and is_photo_rejected(error):
                kind = "document"
            elif as_html and is_parse_error(error):
                as_html = False
            else:
                raise


async def _upload(transport: BotApiTransport, file: OutboundFile, method: str, fields: Mapping[str, Any]) -> Any:
    # Streamed to a local server too, and not as file://: its account need not be able to read the file.
    stream = await transport.run_in_thread(partial(file.open, find_max_upload_bytes(is_local=transport.is_local)))
    with stream:
        upload = FileUpload(request_bodies.UPLOAD_FIELD, file.name, file.media_type, stream)
        return await transport.call(method, fields, timeout_seconds=UPLOAD_TIMEOUT_SECONDS, upload=upload)
