"""Import of the files of a person: those of the sessions that are imported."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sophon.attachments import Attachment, clean_name
from sophon.errors import NotFound
from sophon.lazy_dataclass import dataclass
from sophon.media_types import detect_media_type
from sophon.stores.contract import Store


@dataclass(frozen=True, slots=True)
class ImportedAttachment:
    """A file of an export, and the ids of the sessions that used it."""

    attachment: Attachment
    content: bytes
    sessions: frozenset[str]


def parse_attachment(item: Mapping[str, Any]) -> ImportedAttachment:
    """Return the file of an export; its media type and size are those of its content. Raises ValueError, KeyError."""
    facts, content = Attachment.from_json(item["attachment"]), base64.b64decode(item["content"] or "", validate=True)
    if not isinstance(facts.id, str) or not facts.id or not isinstance(facts.name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON
        raise ValueError("a file needs an id and a name, both texts")
    name = clean_name(facts.name)
    media_type = detect_media_type(content, name)
    attachment = Attachment(facts.id, name, media_type, len(content), max(facts.tokens, 0))
    return ImportedAttachment(attachment, content, frozenset(map(str, item["sessions"])))


async def import_attachments(store: Store, person: str, session_id: str, files: Sequence[ImportedAttachment]) -> None:
    """Store the files of one imported session. A file whose id belongs to somebody else is left out."""
    for file in files:
        if session_id in file.sessions and file.content:
            with suppress(NotFound):
                await store.attachments.add(file.attachment, file.content, owner=person, session_id=session_id)
