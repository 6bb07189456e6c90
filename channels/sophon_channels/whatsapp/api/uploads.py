"""File uploads to WhatsApp: first the upload, then a message that refers to it."""

from datetime import timedelta
from functools import partial
from typing import Any, Literal

from sophon.clock import Clock
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_file import DEFAULT_MEDIA_TYPE, OutboundFile, find_size_problem
from sophon_channels.sent_files import SentFiles, build_file_key
from sophon_channels.whatsapp.api.client import WhatsAppClient
from sophon_channels.whatsapp.api.downloads import MAX_BYTES_BY_KIND

OutboundMediaKind = Literal["image", "audio", "video", "document"]
"""Message type of a file."""

KIND_BY_MEDIA_TYPE: dict[str, OutboundMediaKind] = {
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

MEDIA_ID_LIFETIME = timedelta(days=29)
"""How long the id of an upload is used again; Meta keeps it for 30 days."""

TEXT_MEDIA_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
"""Media types beside text/* that are uploaded as text/plain."""


ACCEPTED_MEDIA_TYPES = frozenset(KIND_BY_MEDIA_TYPE) | {
    "application/msword",
    "application/pdf",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "audio/opus",
    "image/webp",
    "text/plain",
}
"""Media types of an upload; Meta answers with this list to any other (error 100)."""


def find_file_problem(media_type: str, size: int) -> str:
    """Return why WhatsApp would refuse a file, "" if no reason is known. Pure."""
    if problem := find_size_problem(size, MAX_BYTES_BY_KIND["document"]):
        return problem
    upload_type = to_upload_media_type(media_type or DEFAULT_MEDIA_TYPE)
    if upload_type not in ACCEPTED_MEDIA_TYPES:
        return (
            f"WhatsApp does not accept files of the type {upload_type}, only text, PDF, Office documents, and common "
            "pictures, sound and video"
        )
    return ""


async def upload_file_message(
    client: WhatsAppClient,
    clock: Clock,
    file: OutboundFile,
    caption: str,
    sent_files: SentFiles,
    *,
    is_voice: bool = False,
) -> tuple[dict[str, Any], str]:
    """Upload a file, unless Meta has it; return the message that shows it, and the key of a file that Meta had, "" for
    an upload. A file too large for its kind is sent as a document. `is_voice`: audio is shown as a voice message.

    Raises WhatsAppApiError, after which nothing was sent; ChannelError if the file cannot be read.
    """
    size = await clock.run_in_thread(partial(file.check_size, MAX_BYTES_BY_KIND["document"]))
    if problem := find_file_problem(file.media_type, size):
        raise ChannelError(f"the file {file.name!r} cannot be sent: {problem}")
    kind = choose_media_kind(file.media_type, size)
    stream = await clock.run_in_thread(partial(file.open, MAX_BYTES_BY_KIND["document"]))
    with stream:
        upload_type = to_upload_media_type(file.media_type)
        key = await clock.run_in_thread(partial(build_file_key, stream, upload_type, file.name))
        known_id = media_id = sent_files.find(key)
        if media_id is None:
            media_id = await client.upload_media(file.name, upload_type, stream)
            sent_files.record(key, media_id)
    media: dict[str, Any] = {"id": media_id}
    if is_voice and kind == "audio":
        media["voice"] = True
    if caption.strip() and kind != "audio":
        media["caption"] = caption.strip()
    if kind == "document":
        media["filename"] = file.name
    return {"type": kind, kind: media}, key if known_id is not None else ""


def choose_media_kind(media_type: str, size: int) -> OutboundMediaKind:
    """Return the message type for a file of that media type and size in bytes. Pure."""
    kind = KIND_BY_MEDIA_TYPE.get(media_type.lower(), "document")
    return kind if size <= MAX_BYTES_BY_KIND[kind] else "document"


def to_upload_media_type(media_type: str) -> str:
    """Return the media type to upload as: Meta accepts only one text type; the file name keeps the difference. Pure."""
    media_type = media_type.lower()
    return "text/plain" if media_type.startswith("text/") or media_type in TEXT_MEDIA_TYPES else media_type
