"""Results of attachments: the files of a user, with the limits of the host."""

from typing import cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.attachments import Attachment
from sophon.stores.attachments.stored_attachment import StoredAttachment


class AttachmentView(TypedDict):
    """A file of a message, without its bytes, which are at `/api/attachments/{id}`."""

    id: str
    name: str
    media_type: str
    size: int
    tokens: int


class StoredAttachmentView(AttachmentView):
    """A stored file of a user; `is_sent` says that a message has it."""

    created_at: str
    is_sent: bool


class UploadedAttachment(TypedDict):
    """The file that was stored."""

    attachment: StoredAttachmentView


class AttachmentLimits(TypedDict):
    """Limits of the host for files."""

    enabled: bool
    max_bytes: int
    max_per_message: int
    max_total_bytes: int
    media_types: list[str]


class AttachmentList(TypedDict):
    """The files of a user, oldest first, with the limits."""

    items: list[StoredAttachmentView]
    total_bytes: int
    limits: AttachmentLimits


def attachment_to_json(attachment: Attachment) -> AttachmentView:
    """Return a file of a message as JSON."""
    return cast(AttachmentView, attachment.to_json())


def stored_attachment_to_json(stored: StoredAttachment) -> StoredAttachmentView:
    """Return a stored file as JSON."""
    return {
        **attachment_to_json(stored.attachment),
        "created_at": stored.created_at.isoformat(),
        "is_sent": bool(stored.sessions),
    }
