"""File uploads to WhatsApp: first the upload, then a message that refers to it."""

from functools import partial
from typing import Any, Literal

from sophon.clock import Clock
from sophon_channels.disk import FileToSend
from sophon_channels.whatsapp.client import Client
from sophon_channels.whatsapp.downloads import LARGEST

Kind = Literal["image", "audio", "video", "document"]
"""Message type of a file."""

KINDS: dict[str, Kind] = {
    "image/jpeg": "image",
    "image/png": "image",
    "audio/aac": "audio",
    "audio/amr": "audio",
    "audio/mp4": "audio",
    "audio/mpeg": "audio",
    "audio/ogg": "audio",
    "video/mp4": "video",
    "video/3gpp": "video",
}
"""Message type by media type; all other files are documents."""

TEXTUAL = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
"""Media types beside text/* that are uploaded as text/plain."""


async def file_message(client: Client, clock: Clock, file: FileToSend, caption: str) -> dict[str, Any]:
    """Upload a file; return the message that shows it. A file too large for its kind is sent as a document.

    Raises `Failure`, after which nothing was sent; ChannelError if the file cannot be read.
    """
    size = await clock.in_thread(partial(file.size, LARGEST["document"]))
    kind = kind_of(file.media_type, size)
    stream = await clock.in_thread(partial(file.open, LARGEST["document"]))
    with stream:
        media_id = await client.upload(file.name, uploaded_type(file.media_type), stream)
    media = {"id": media_id}
    if caption.strip() and kind != "audio":
        media["caption"] = caption.strip()
    if kind == "document":
        media["filename"] = file.name
    return {"type": kind, kind: media}


def kind_of(media_type: str, size: int) -> Kind:
    """Return the message type for a file of that media type and size in bytes. Pure."""
    kind = KINDS.get(media_type.lower(), "document")
    return kind if size <= LARGEST[kind] else "document"


def uploaded_type(media_type: str) -> str:
    """Return the media type to upload as: Meta accepts only one text type; the file name keeps the difference. Pure."""
    media_type = media_type.lower()
    return "text/plain" if media_type.startswith("text/") or media_type in TEXTUAL else media_type
