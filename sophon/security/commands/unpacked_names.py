"""Names that a command would unpack: read from the archive, the patch or the folder, without unpacking anything."""

import bz2
import gzip
import lzma
import os
import posixpath
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import IO, Any, Final, cast

from sophon.security.commands.unpacking import ANY_STRIP, Unpacking

MAX_NAMES: Final = 20_000
"""Names that are read; of a larger archive they are unknown."""

MAX_ARCHIVE_BYTES: Final = 100_000_000
"""Bytes that are decompressed to read the names of a tar archive, whose headers stand between its files."""

MAX_PATCH_BYTES: Final = 10_000_000

_UNICODE_NAME: Final = 0x7075
"""Extra field of a zip entry with another name, which `unzip` uses instead."""

_PATCHED: Final = re.compile(r"^(?:\+\+\+|---|Index:|rename to|copy to|\*\*\*) +([^\t\n]+)", re.MULTILINE)


class _Unknown(ValueError):
    """Names that cannot be told."""


def find_unpacked_names(unpacking: Unpacking) -> list[str] | None:
    """Return the names of the files, relative to the folder, or None if they are not known for sure.

    Of several possible sources the names of all that exist. Links in an archive could lead elsewhere, so an archive
    with links is not known. Never raises.
    """
    names: list[str] = []
    try:
        if unpacking.text:
            names = list(_names_of_patch(unpacking.text))
        elif unpacking.kind == "unknown" or not any(map(os.path.lexists, unpacking.sources)):
            return None
        for source in filter(os.path.lexists, unpacking.sources):
            names += islice(_READERS[unpacking.kind](source), MAX_NAMES + 1)
            if len(names) > MAX_NAMES:
                return None
    except Exception:  # noqa: BLE001 - a damaged archive makes the readers raise whatever they like
        return None
    return [name for each in names if (name := _strip(each, unpacking.strip))]


def _names_of_tar(path: str) -> Iterator[str]:
    if not os.path.isfile(path):  # noqa: PTH113 - a device or pipe would never end
        raise _Unknown
    with open(path, "rb") as file:  # noqa: PTH123
        magic = file.read(6)
        file.seek(0)
        decompress = next((each for beginning, each in _COMPRESSIONS.items() if magic.startswith(beginning)), None)
        content = _Limited(decompress(file) if decompress is not None else file)
        with tarfile.open(fileobj=cast(IO[bytes], content), mode="r|") as archive:
            for member in archive:
                if member.islnk() or member.issym():
                    raise _Unknown
                yield member.name


class _Limited:
    """Reader of at most `MAX_ARCHIVE_BYTES`: a small archive may decompress to any size. Raises ValueError beyond."""

    def __init__(self, file: Any) -> None:
        self._file, self._left = file, MAX_ARCHIVE_BYTES

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise _Unknown
        return data


def _names_of_zip(path: str) -> Iterator[str]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            is_link = (entry.external_attr >> 16) & 0o170000 == 0o120000
            if is_link or entry.orig_filename != entry.filename or _has_extra(entry.extra, _UNICODE_NAME):
                raise _Unknown
            yield entry.filename.replace("\\", "/")


def _has_extra(extra: bytes, wanted: int) -> bool:
    position = 0
    while position + 4 <= len(extra):
        found, length = (int.from_bytes(extra[at : at + 2], "little") for at in (position, position + 2))
        if found == wanted:
            return True
        position += 4 + length
    return False


def _names_of_patch_file(path: str) -> Iterator[str]:
    if not os.path.isfile(path):  # noqa: PTH113
        raise _Unknown
    with open(path, "rb") as file:  # noqa: PTH123
        text = file.read(MAX_PATCH_BYTES + 1)
    if len(text) > MAX_PATCH_BYTES:
        raise _Unknown
    yield from _names_of_patch(text.decode("utf-8", "replace"))


def _names_of_patch(text: str) -> Iterator[str]:
    """Yield the names; whichever of the two of a file is patched. A quoted one may have escapes."""
    for found in _PATCHED.finditer(text):
        name = found[1].strip()
        if name.startswith('"'):
            raise _Unknown
        yield name


def _names_of_folder(path: str) -> Iterator[str]:
    """Yield the files and folders below a folder. A link in it is copied as a link, or what it leads to."""
    if not os.path.isdir(path):  # noqa: PTH112
        yield posixpath.basename(path)
        return
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            yield os.path.relpath(os.path.join(folder, name), path)  # noqa: PTH118


def _strip(name: str, count: int) -> str:
    if count == ANY_STRIP:
        return posixpath.basename(name)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "/".join(parts[count:])


_COMPRESSIONS: Final[Mapping[bytes, Callable[[Any], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}

_READERS: Final = {
    "tar": _names_of_tar,
    "zip": _names_of_zip,
    "patch": _names_of_patch_file,
    "folder": _names_of_folder,
}
