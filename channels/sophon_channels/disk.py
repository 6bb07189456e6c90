"""A file that is to be sent, from the disk: still there, an ordinary one, and not too large."""

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, BinaryIO, Self

from sophon_channels.errors import ChannelError
from sophon_channels.fields import storable

UNKNOWN_TYPE = "application/octet-stream"
LONGEST_NAME = 200
"""Characters; the end, with the ending, is what is kept."""


@dataclass(frozen=True, slots=True)
class FileToSend:
    """`path` is absolute and leads over no link; `name` is what the person sees."""

    path: str
    name: str
    media_type: str

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self | None:
        """The file of a payload that `with_file` made; None for one without."""
        if not payload.get("file"):
            return None
        return cls(str(payload["file"]), str(payload["file_name"]), str(payload["media_type"]))

    def open(self, most: int) -> BinaryIO:
        """The file, to be read from its beginning; blocks. Raises ChannelError: gone, empty, more than `most` bytes."""
        try:
            number = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise ChannelError(f"the file {self.name!r} cannot be sent: {_reason(error)}") from None
        try:
            self._check(os.fstat(number), most)
            return os.fdopen(number, "rb")
        except BaseException:
            os.close(number)
            raise

    def size(self, most: int) -> int:
        """Its bytes; blocks. Raises as `open` does."""
        with self.open(most) as stream:
            return os.fstat(stream.fileno()).st_size

    def _check(self, about: os.stat_result, most: int) -> None:
        # What is sent was allowed before, where it lay then: a folder on the way may be a link by now.
        if not stat.S_ISREG(about.st_mode) or os.path.realpath(self.path) != self.path:
            raise ChannelError(f"the file {self.name!r} cannot be sent: something else has taken its place")
        if about.st_size == 0:
            raise ChannelError(f"the file {self.name!r} cannot be sent: it is empty")
        if about.st_size > most:
            raise ChannelError(f"the file {self.name!r} is too large: {about.st_size} bytes, and at most {most} go out")


def with_file(path: str, name: str, media_type: str) -> dict[str, str]:
    """The fields of a payload that `FileToSend.of` reads. Pure."""
    shown = "".join(sign if sign.isprintable() else "_" for sign in storable(name or PurePath(path).name))
    return {"file": path, "file_name": shown[-LONGEST_NAME:] or "file", "media_type": media_type or UNKNOWN_TYPE}


def _reason(error: OSError) -> str:
    return "it is gone" if error.errno == errno.ENOENT else (error.strerror or type(error).__name__).lower()
