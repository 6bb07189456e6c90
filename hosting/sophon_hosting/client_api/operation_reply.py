"""Response metadata of an operation (status, ETag, file name), and results that are files or streams."""

from collections.abc import AsyncIterator
from typing import Any

from sophon._python.lazy_dataclass import dataclass


class Reply:
    """Status, version and file name of one answer, which only HTTP sends; an operation sets them."""

    __slots__ = ("file_name", "status", "version")

    def __init__(self) -> None:
        self.status: int | None = None
        self.version: str | None = None
        """Version of a result that a client may keep: its ETag. By default a hash of the result."""
        self.file_name: str | None = None
        """Name under which browsers save the result; None if they show it."""


@dataclass(frozen=True, slots=True)
class File:
    """Result that is a file to download; `content_security_policy` holds for browsers that show it all the same."""

    content: bytes
    media_type: str
    name: str
    is_text: bool = False
    content_security_policy: str = ""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Result that is a stream of JSON objects, one per line."""

    lines: AsyncIterator[Any]
