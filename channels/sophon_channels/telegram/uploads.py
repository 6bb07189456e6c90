"""File uploads to Telegram: as a photo if the app can show it, else as a document."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from sophon_channels.disk import FileToSend
from sophon_channels.telegram import requests
from sophon_channels.telegram.failures import Failure, is_no_photo, is_unreadable
from sophon_channels.telegram.transport import Transport, Upload

MEGABYTE = 1024 * 1024
LARGEST = 50 * MEGABYTE
"""Maximum size of an upload, in bytes."""
LARGEST_PHOTO = 10 * MEGABYTE
"""Bytes. Source: reference/channels.md, "Files"."""

SHOWN = frozenset({"image/jpeg", "image/png", "image/webp"})
"""Media types that are sent as a photo."""

UPLOAD_SECONDS = 300.0

Kind = Literal["photo", "document"]
METHODS: Mapping[Kind, str] = {"photo": "sendPhoto", "document": "sendDocument"}


async def send_file(
    transport: Transport, file: FileToSend, key: str, payload: Mapping[str, Any], *, is_repeat: bool
) -> Any:
    """Upload a payload with a file; return the message. Raises `Failure`; ChannelError if the file cannot be read.

    An image that Telegram rejects as a photo is sent again as a document, and a caption that it cannot parse as plain
    text.
    """
    size = await transport.in_thread(partial(file.size, LARGEST))
    kind: Kind = "photo" if file.media_type in SHOWN and size <= LARGEST_PHOTO else "document"
    as_html = bool(payload.get("html"))
    while True:
        fields = requests.file(key, payload, kind, as_html=as_html, is_repeat=is_repeat)
        try:
            return await _upload(transport, file, METHODS[kind], fields)
        except Failure as error:
            if kind == "photo" and is_no_photo(error):
                kind = "document"
            elif as_html and is_unreadable(error):
                as_html = False
            else:
                raise


async def _upload(transport: Transport, file: FileToSend, method: str, fields: Mapping[str, Any]) -> Any:
    stream = await transport.in_thread(partial(file.open, LARGEST))
    with stream:
        upload = Upload(requests.UPLOAD, file.name, file.media_type, stream)
        return await transport.call(method, fields, seconds=UPLOAD_SECONDS, upload=upload)
