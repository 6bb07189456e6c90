"""Parsing of the files in a Telegram message."""

from typing import Literal

from sophon_channels.contract import Attachment
from sophon_channels.fields import Fields, objects, sub, text, whole

_KINDS: tuple[tuple[str, Literal["image", "audio", "video", "document"]], ...] = (
    ("document", "document"),
    ("audio", "audio"),
    ("voice", "audio"),
    ("video", "video"),
    ("video_note", "video"),
)


def attachments(message: Fields) -> tuple[Attachment, ...]:
    """Return the photo in its largest size, the document, audio, voice message or video of a message. An animation is
    also sent as a document with the same id.
    """
    files = [_attachment(sub(message, key), kind) for key, kind in _KINDS if sub(message, key)]
    if sizes := objects(message, "photo"):
        files.append(_attachment(max(sizes, key=_area), "image", "image/jpeg"))
    return tuple(attachment for attachment in files if attachment.id)


def _area(photo: Fields) -> int:
    return (whole(photo, "width") or 0) * (whole(photo, "height") or 0)


def _attachment(file: Fields, kind: Literal["image", "audio", "video", "document"], media_type: str = "") -> Attachment:
    return Attachment(
        id=text(file, "file_id"),
        kind=kind,
        name=text(file, "file_name"),
        media_type=text(file, "mime_type") or media_type,
        size=whole(file, "file_size"),
    )
