"""File uploads to Telegram: as a photo if the app can show it, as a voice message if it is one, else as a document."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Literal

from sophon_channels.json_fields import JsonObject, get_object, get_objects, get_text, object_from_json
from sophon_channels.outbound_file import OutboundFile
from sophon_channels.sent_files import SentFiles, build_file_key
from sophon_channels.telegram.api import request_bodies
from sophon_channels.telegram.api.errors import (
    TelegramApiError,
    is_file_unknown,
    is_parse_error,
    is_photo_rejected,
)
from sophon_channels.telegram.api.transport import BotApiTransport, FileUpload

MEGABYTE = 1024 * 1024
MAX_UPLOAD_BYTES = 50 * MEGABYTE
"""Maximum size of an upload, in bytes."""
MAX_LOCAL_UPLOAD_BYTES = 2000 * MEGABYTE
"""Maximum size of an upload to a server with `--local`, in bytes. Source: core.telegram.org/bots/api, local server."""
MAX_PHOTO_BYTES = 10 * MEGABYTE
"""Bytes. Source: Telegram Bot API."""

PHOTO_MEDIA_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})
"""Media types that are sent as a photo."""

UPLOAD_TIMEOUT_SECONDS = 300.0
FILE_ID_LIFETIME = timedelta(days=30)
"""How long the id of an uploaded file is used again; Telegram states no end."""

UploadKind = Literal["photo", "document", "voice", "video", "audio"]
"""Kind of a file in a message; a file that is sent alone is a photo, a document or a voice message."""
METHOD_BY_KIND: Mapping[UploadKind, str] = {
    "photo": "sendPhoto",
    "document": "sendDocument",
    "voice": "sendVoice",
}


def find_max_upload_bytes(*, is_local: bool) -> int:
    """Return the maximum size of an upload in bytes. Pure."""
    return MAX_LOCAL_UPLOAD_BYTES if is_local else MAX_UPLOAD_BYTES


async def upload_file(
    transport: BotApiTransport,
    file: OutboundFile,
    chat_key: str,
    payload: Mapping[str, Any],
    *,
    is_repeat: bool,
    sent_files: SentFiles,
) -> Any:
    """Send a payload with a file, by reference if Telegram has the file, else with an upload; return the message.

    Raises `TelegramApiError`; ChannelError if the file cannot be read.

    An image that Telegram rejects as a photo is sent again as a document, and a caption that it cannot parse as plain
    text.
    """
    size = await transport.run_in_thread(partial(file.check_size, find_max_upload_bytes(is_local=transport.is_local)))
    kind: UploadKind = "photo" if file.media_type in PHOTO_MEDIA_TYPES and size <= MAX_PHOTO_BYTES else "document"
    if payload.get("is_voice"):
        kind = "voice"
    as_html = bool(payload.get("html"))
    while True:
        fields = request_bodies.build_send_file(chat_key, payload, kind, as_html=as_html, is_repeat=is_repeat)
        try:
            return await _send(transport, file, kind, fields, sent_files)
        except TelegramApiError as error:
            if kind == "photo" and is_photo_rejected(error):
                kind = "document"
            elif as_html and is_parse_error(error):
                as_html = False
            else:
                raise


async def _send(
    transport: BotApiTransport, file: OutboundFile, kind: UploadKind, fields: Mapping[str, Any], sent_files: SentFiles
) -> Any:
    # Streamed to a local server too, and not as file://: its account need not be able to read the file.
    stream = await transport.run_in_thread(partial(file.open, find_max_upload_bytes(is_local=transport.is_local)))
    with stream:
        key = await transport.run_in_thread(partial(build_file_key, stream, kind, file.name, file.media_type))
        method, file_id = METHOD_BY_KIND[kind], sent_files.find(key)
        if file_id is not None:
            try:
                return await transport.call(method, {**fields, kind: file_id})
            except TelegramApiError as error:
                if not is_file_unknown(error):
                    raise
                sent_files.forget(key)
        upload = FileUpload(request_bodies.UPLOAD_FIELD, file.name, file.media_type, stream)
        message = await transport.call(method, fields, timeout_seconds=UPLOAD_TIMEOUT_SECONDS, uploads=[upload])
    if new_id := find_file_id(object_from_json(message), kind):
        sent_files.record(key, new_id)
    return message


def find_file_id(message: JsonObject, kind: UploadKind) -> str:
    """Return the id of the file of a sent message, "" if Telegram has made another kind of it. Pure."""
    if kind != "photo":
        return get_text(get_object(message, kind), "file_id")
    sizes = get_objects(message, "photo")
    return get_text(sizes[-1], "file_id") if sizes else ""
