"""File to send, read from disk: checked for existence, type and size when it is opened."""

import errno
import os
import re
import stat
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, Self

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.errors import ChannelError
from sophon_channels.json_fields import sanitize_text

DEFAULT_MEDIA_TYPE = "application/octet-stream"
"""Media type of a file whose type is unknown."""
MAX_FILE_NAME_LENGTH = 200
"""In characters; a longer name keeps its end, with the extension."""

_SEPARATORS = str.maketrans("/\\;", "___")  # a path, and a parameter of a header that is parsed carelessly
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OutboundFile:
    """A file of an outbound payload. `path` is absolute and without symbolic links; `name` is the name that the
    recipient sees.
    """

    path: str
    name: str
    media_type: str

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Self | None:
        """Return the file of a payload that `build_file_fields` built; None if the payload has none."""
        if not payload.get("file"):
            return None
        return cls._from_fields(payload)

    @classmethod
    def album_from_payload(cls, payload: Mapping[str, Any]) -> list[Self]:
        """Return the files of a payload with an album; none if it has none, or one file only."""
        return [cls._from_fields(each) for each in (payload, *payload["more_files"])] if "more_files" in payload else []

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> Self:
        # Cleaned again: a payload may be written by others than `build_file_fields`, and these texts become headers.
        return cls(
            str(fields["file"]), _clean_name(str(fields["file_name"])), _clean_media_type(str(fields["media_type"]))
        )

    def open(self, max_bytes: int) -> BinaryIO:
        """Open the file for reading; blocks. Raises ChannelError if it is gone, empty, or larger than `max_bytes`
        bytes.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise ChannelError(f"the file {self.name!r} cannot be sent: {_os_error_text(error)}") from None
        try:
            self._check(os.fstat(descriptor), max_bytes)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    def check_size(self, max_bytes: int) -> int:
        """Return the size in bytes; blocks. Raises the same errors as `open`."""
        with self.open(max_bytes) as stream:
            return os.fstat(stream.fileno()).st_size

    def _check(self, status: os.stat_result, most: int) -> None:
        # The path was checked when the message was created; since then a parent directory may have become a link.
        if not stat.S_ISREG(status.st_mode) or os.path.realpath(self.path) != self.path:
            raise ChannelError(f"the file {self.name!r} cannot be sent: the path is no longer that file")
        if status.st_size == 0:
            raise ChannelError(f"the file {self.name!r} cannot be sent: it is empty")
        if status.st_size > most:
            raise ChannelError(
                f"the file {self.name!r} is too large: {status.st_size} bytes, and at most {most} can be sent"
            )


def build_file_fields(path: str, name: str, media_type: str) -> dict[str, str]:
    """Return the payload fields that `OutboundFile.from_payload` reads. Pure."""
    return {
        "file": path,
        "file_name": _clean_name(name or PurePath(path).name),
        "media_type": _clean_media_type(media_type),
    }


def _clean_name(name: str) -> str:
    """Return a name for a header and a chat: one line, nothing invisible, no path."""
    printable = "".join(char if char.isprintable() else "_" for char in sanitize_text(name))
    return printable.translate(_SEPARATORS)[-MAX_FILE_NAME_LENGTH:] or "file"


def _clean_media_type(media_type: str) -> str:
    """Return the media type, without parameters, or the default for anything that is none (RFC 6838, 4.2)."""
    plain = media_type.partition(";")[0].strip()
    return plain if _MEDIA_TYPE.fullmatch(plain) else DEFAULT_MEDIA_TYPE


def find_size_problem(size: int, max_bytes: int) -> str:
    """Return why a file of `size` bytes cannot be sent, "" if it can. Pure."""
    if size <= 0:
        return "it has 0 bytes; an empty file cannot be sent"
    return f"it has {size:,} bytes; the maximum here is {max_bytes:,} bytes" if size > max_bytes else ""


def _os_error_text(error: OSError) -> str:
    return "it no longer exists" if error.errno == errno.ENOENT else (error.strerror or type(error).__name__).lower()
