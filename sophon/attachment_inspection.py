"""Inspection of a file before it is stored as an attachment: media type by content, limits, tokens.

Sources: Claude docs, PDF support (1,500 to 3,000 tokens per page, at most 100 pages); OpenAI docs, File inputs.
"""

import re
from collections.abc import Callable

from sophon.attachments import PDF, Attachment, clean_name
from sophon.errors import InputError
from sophon.images import MAX_IMAGE_BYTES, count_size_tokens, read_size
from sophon.media_type_detection import decode_text, detect_media_type
from sophon.settings.sections.attachments import AttachmentsSettings

MAX_PER_MESSAGE = 10
"""Files of a message; an album of Telegram has as many."""
MAX_TEXT_CHARACTERS = 50_000
"""Characters of a text file that a model reads: its beginning."""
PDF_TOKENS_PER_PAGE = 2000
PDF_BYTES_PER_PAGE = 50_000
"""Assumed of a PDF whose page objects are compressed, so that they cannot be counted."""
MAX_COUNTED_PAGES = 100

NAME_TOKENS = 40
"""Tokens of the line that names a file."""

_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


class UnsupportedMediaType(InputError):
    """Error: a file of a kind that is not accepted (code `unsupported_media_type`)."""

    code = "unsupported_media_type"

    def __init__(self, name: str, media_type: str, accepted: tuple[str, ...]) -> None:
        self.name, self.media_type, self.accepted = name, media_type, accepted
        super().__init__(
            f"{name!r} is {media_type} by its content, which is not accepted; accepted are {', '.join(accepted)} "
            "(Attachments.MediaTypes)"
        )


class FileTooLarge(InputError):
    """Error: a file exceeds the limit of one file (code `too_large`). Sizes are in bytes; `size` may be a part."""

    code = "too_large"

    def __init__(self, name: str, limit: int, *, is_image: bool = False) -> None:
        self.name, self.limit = name, limit
        remedy = "scale it down" if is_image else "Attachments.MaxBytes"
        super().__init__(f"{name!r} is too large: at most {limit:,} bytes are allowed ({remedy})")


def inspect_file(
    content: bytes,
    name: str,
    attachment_id: str,
    settings: AttachmentsSettings,
    count_text: Callable[[str], int],
) -> Attachment:
    """Return the attachment that a file is. Takes long for a large file: call it in a thread.

    Raises InputError for an empty file or if files are not allowed, FileTooLarge, UnsupportedMediaType.
    """
    name = clean_name(name)
    check_enabled(settings)
    if not content:
        raise InputError(f"{name!r} is empty")
    if len(content) > settings.max_bytes:
        raise FileTooLarge(name, settings.max_bytes)
    media_type = detect_media_type(content, name)
    if media_type not in settings.media_types:
        raise UnsupportedMediaType(name, media_type, settings.media_types)
    found = Attachment(attachment_id, name, media_type, len(content))
    if found.is_image and len(content) > MAX_IMAGE_BYTES:
        raise FileTooLarge(name, MAX_IMAGE_BYTES, is_image=True)
    tokens = _count_tokens(found, content, MAX_TEXT_CHARACTERS, count_text)
    return Attachment(attachment_id, name, media_type, len(content), tokens)


def check_enabled(settings: AttachmentsSettings) -> None:
    """Raise InputError if messages may not have files."""
    if not settings.enabled:
        raise InputError("this host takes no files (Attachments.Enabled)")


def check_attachment_count(count: int, settings: AttachmentsSettings) -> None:
    """Raise InputError if a message has more files than it may."""
    check_enabled(settings)
    if count > MAX_PER_MESSAGE:
        raise InputError(f"the message has {count} files; at most {MAX_PER_MESSAGE} are allowed")


def _count_tokens(found: Attachment, content: bytes, max_characters: int, count_text: Callable[[str], int]) -> int:
    if found.is_image:
        return count_size_tokens(read_size(content)) + NAME_TOKENS
    if found.is_text:
        return count_text((decode_text(content) or "")[:max_characters]) + NAME_TOKENS
    if found.media_type == PDF:
        pages = len(_PDF_PAGE.findall(content)) or len(content) // PDF_BYTES_PER_PAGE + 1
        return min(pages, MAX_COUNTED_PAGES) * PDF_TOKENS_PER_PAGE + NAME_TOKENS
    return NAME_TOKENS
