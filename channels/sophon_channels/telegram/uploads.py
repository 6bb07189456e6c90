"""Files to Telegram: as a photo where the app shows one, else as a document."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from sophon_channels.disk import FileToSend
from sophon_channels.telegram import requests
from sophon_channels.telegram.failures import Failure, is_no_photo, is_unreadable
from sophon_channels.telegram.transport import Transport, Upload

MEGABYTE = 1024 * 1024
LARGEST = 50 * MEGABYTE
LARGEST_PHOTO = 10 * MEGABYTE
"""Bytes. Source: reference/channels.md, "Files"."""

SHOWN = frozenset({"image/jpeg", "image/png", "image/webp"})
"""What is sent as a photo."""

UPLOAD_SECONDS = 300.0

Kind = Literal["photo", "document"]
METHODS: Mapping[Kind, str] = {"photo": "sendPhoto", "document": "sendDocument"}


async def send_file(
    transport: Transport, file: FileToSend, key: str, payload: Mapping[str, Any], *, is_repeat: bool
) -> Any:
    """Send a payload with a file; the message. Raises Failure; ChannelError where the file itself is in the way.

    A picture that Telegram does not take as a photo is sent once more as a document, and a caption that it cannot read
    as plain text.
    """
    size = await transport.in_thread(partial(file.size, LARGEST))
    kind: Kind = "photo" if file.media_type in SHOWN and size <= LARGEST_PHOTO else "document"
    as_html = bool(payload.get("html"))
    while True:
        fields = requests.file(key, payload, kind, as_html=as_html, is_repeat=is_repeat)
        try:
            return await _uploaded(transport, file, METHODS[kind], fields)
        except Failure as failure:
            if kind == "photo" and is_no_photo(failure):
                kind = "document"
            elif as_html and is_unreadable(failure):
                as_html = False
            else:
                raise


async def _uploaded(transport: Transport, file: FileToSend, method: str, fields: Mapping[str, Any]) -> Any:
    stream = await transport.in_thread(partial(file.open, LARGEST))
    with stream:
        upload = Upload(requests.UPLOAD, file.name, file.media_type, stream)
        return await transport.call(method, fields, seconds=UPLOAD_SECONDS, upload=upload)
