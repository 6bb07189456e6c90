"""Parsing of the files in a Telegram message."""

from typing import Literal

from sophon_channels.contract import ChannelAttachment
from sophon_channels.json_fields import JsonObject, get_int, get_object, get_objects, get_text

_KINDS: tuple[tuple[str, Literal["image", "audio", "video", "document"]], ...] = (
    ("document", "document"),
    ("audio", "audio"),
    ("voice", "audio"),
    ("video", "video"),
    ("video_note", "video"),
    ("live_photo", "video"),
)


def parse_attachments(message: JsonObject) -> tuple[ChannelAttachment, ...]:
    """Return the photo in its largest size, the document, audio, voice message or video of a message. An animation
    counts only without the document of the same id that Telegram sends with it.
    """
    if not get_object(message, "document") and (animation := get_object(message, "animation")):
        message = {**message, "document": animation}
    files = [
        _attachment(get_object(message, key), kind, is_voice=key == "voice")
        for key, kind in _KINDS
        if get_object(message, key)
    ]
    if sizes := get_objects(message, "photo"):
        files.append(_attachment(max(sizes, key=_area), "image", "image/jpeg"))
    return tuple(attachment for attachment in files if attachment.id)


def _area(photo: JsonObject) -> int:
    return (get_int(photo, "width") or 0) * (get_int(photo, "height") or 0)


def _attachment(
    file: JsonObject,
    kind: Literal["image", "audio", "video", "document"],
    media_type: str = "",
    *,
    is_voice: bool = False,
) -> ChannelAttachment:
    return ChannelAttachment(
        id=get_text(file, "file_id"),
        kind=kind,
        name=get_text(file, "file_name"),
        media_type=get_text(file, "mime_type") or media_type,
        size=get_int(file, "file_size"),
        is_voice=is_voice,
    )
