"""Attachments of messages: what a message knows of its files, and their names.

The bytes are in the store (`sophon.stores.attachments`); a message holds an id and facts, and its text stays the text.
"""

import re
from collections.abc import Mapping
from typing import Any, Self

from sophon._python.lazy_dataclass import dataclass

MAX_NAME_CHARACTERS = 150
"""Length of a name; a longer one keeps its end, with the extension."""

DEFAULT_NAME = "file"

UPLOADS_FOLDER = "uploads"
"""Folder, below the files folder of a person or group, of the files that came with messages of channels."""

IMAGE_PREFIX = "image/"
PDF = "application/pdf"
TEXT_TYPES = frozenset({"text/plain", "text/markdown", "text/csv", "application/json"})
"""Media types of files that a model reads as text; source code is `text/plain`."""

_SEPARATORS = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class Attachment:
    """One file of a message. `size` is in bytes; `tokens` is about how many tokens a model counts for it."""

    id: str
    name: str
    media_type: str
    size: int
    tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return JSON-serialisable data."""
        return {
            "id": self.id,
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
            "tokens": self.tokens,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(data["id"], data["name"], data["media_type"], int(data["size"]), int(data.get("tokens") or 0))

    @property
    def is_image(self) -> bool:
        """Whether a model that sees gets it as an image."""
        return self.media_type.startswith(IMAGE_PREFIX)

    @property
    def is_text(self) -> bool:
        """Whether every model gets it as text."""
        return self.media_type in TEXT_TYPES


def clean_name(name: str) -> str:
    """Return the name of a file in one line of printable characters: the last part of a path, never empty or hidden."""
    last = _SEPARATORS.split(name)[-1]
    printable = "".join(char if char.isprintable() else "_" for char in last.encode("utf-8", "replace").decode())
    return printable.strip(" .")[-MAX_NAME_CHARACTERS:].strip(" .") or DEFAULT_NAME


def describe_attachment(attachment: Attachment) -> str:
    """Return name, media type and size in one line for people and models."""
    return f"{attachment.name}, {attachment.media_type}, {attachment.size:,} bytes"
