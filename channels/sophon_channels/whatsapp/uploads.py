"""Files to WhatsApp: uploaded first, then a message that names the upload."""

from functools import partial
from typing import Any, Literal

from sophon.clock import Clock
from sophon_channels.disk import FileToSend
from sophon_channels.whatsapp.client import Client
from sophon_channels.whatsapp.downloads import LARGEST

Kind = Literal["image", "audio", "video", "document"]

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
"""What WhatsApp shows or plays; all else is a document."""

TEXTUAL = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})


async def file_message(client: Client, clock: Clock, file: FileToSend, caption: str) -> dict[str, Any]:
    """Upload a file; the message that shows it. What is too large to be shown is a document.

    Raises Failure, after which nothing was sent; ChannelError where the file itself is in the way.
    """
    size = await clock.in_thread(partial(file.size, LARGEST["document"]))
    kind = kind_of(file.media_type, size)
    stream = await clock.in_thread(partial(file.open, LARGEST["document"]))
    with stream:
        media_id = await client.upload(file.name, uploaded_type(file.media_type), stream)
    shown = {"id": media_id}
    if caption.strip() and kind != "audio":
        shown["caption"] = caption.strip()
    if kind == "document":
        shown["filename"] = file.name
    return {"type": kind, kind: shown}


def kind_of(media_type: str, size: int) -> Kind:
    """The kind of message for a file of so many bytes. Pure."""
    kind = KINDS.get(media_type.lower(), "document")
    return kind if size <= LARGEST[kind] else "document"


def uploaded_type(media_type: str) -> str:
    """As what it is given to Meta, which knows one kind of text only; the name of the file says more. Pure."""
    media_type = media_type.lower()
    return "text/plain" if media_type.startswith("text/") or media_type in TEXTUAL else media_type
