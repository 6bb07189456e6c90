"""Writes to workspace files: a person's edit of a whole file, and facts that the host adds to MEMORY.md.

All functions block on disk I/O. Writers of a folder, also of several processes, exclude each other by a lock on it.
"""

import hashlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.private_files import PRIVATE_FILE, make_private_folder
from sophon.errors import ChangedMeanwhile, InputError
from sophon.memory.statements_to_remember import normalize_statement
from sophon.memory.workspace_files import MAX_FILE_BYTES, may_be_link, open_workspace_file

MEMORY_FILE: Final = "MEMORY.md"
CAPTURED_HEADING: Final = "## Auto-captured"
"""Followed by the date. Source: OpenParallax, compaction."""

DIGESTS_FILE: Final = ".captured"
"""Digests of all facts that were ever added to the MEMORY.md of the folder, a line each: one that is no longer in it
was deleted by its person, and is not added again.
"""

MAX_EDITED_BYTES: Final = 1_000_000
"""Size of the largest file that can be read here, to shorten it."""

ARRIVING: Final = ".new"
"""End of the name of a text that is not in its place yet."""

_DIGEST_CHARACTERS: Final = 32


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Text of a workspace file and its version, a digest of the text; "" for a file that is not there."""

    text: str
    version: str


def read_version(path: Path) -> FileVersion:
    """Return a file as it is, also its comments. Raises OSError, and InputError for one that is no text of UTF-8, or
    larger than can be edited.
    """
    try:
        with open_workspace_file(path) as file:
            data = file.read(MAX_EDITED_BYTES + 1)
    except FileNotFoundError:
        return FileVersion("", "")
    if len(data) > MAX_EDITED_BYTES:
        raise InputError(f"{path.name} is larger than {MAX_EDITED_BYTES} bytes: it can only be edited on the host")
    try:
        return FileVersion(data.decode(), hashlib.sha256(data).hexdigest()[:_DIGEST_CHARACTERS])
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is no text of UTF-8: it can only be edited on the host") from None


def save_version(path: Path, text: str, version: str) -> FileVersion:
    """Replace the text of a file whose version is still the given one, with mode 0600; return the new version.

    Raises ChangedMeanwhile for another version, InputError for a text of more than `MAX_FILE_BYTES`, OSError.
    """
    data = text.replace("\r\n", "\n").encode()
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"{path.name} would have {len(data)} bytes; at most {MAX_FILE_BYTES} are read: shorten it")
    make_private_folder(path.parent)
    with _lock(path.parent):
        if read_version(path).version != version:
            raise ChangedMeanwhile("file", path.name)
        # A link that somebody has made to a file elsewhere stays one.
        _replace(path.resolve() if may_be_link(path) else path, data)
        return read_version(path)


def add_facts(folder: Path, facts: Sequence[str], today: date) -> list[str] | None:
    """Add facts to MEMORY.md, a bullet each, below a heading of the day; return those that were added.

    Left out is what the file says already, and what was added before and then deleted. None, and nothing is added, if
    the file would become larger than what is read of it. Raises OSError, and InputError as `read_version`.
    """
    path = folder / MEMORY_FILE
    make_private_folder(folder)
    with _lock(folder):
        text = read_version(path).text
        digests = folder / DIGESTS_FILE
        known = {*_read_digests(digests), *map(_digest, text.splitlines())}
        added: dict[str, str] = {}
        for fact in facts:
            # The marks of a comment would hide what stands behind them.
            line = " ".join(fact.split()).replace("<!--", "<! --").replace("-->", "-- >")
            if (digest := _digest(line)) not in known:
                added.setdefault(digest, line)
        addition = _render(text, [*added.values()], today)
        if not added:
            return []
        if len(text.encode()) + len(addition.encode()) > MAX_FILE_BYTES:
            return None
        _append(path, addition)
        _append(digests, "".join(f"{digest}\n" for digest in added))
        return [*added.values()]


def find_said(text: str) -> frozenset[str]:
    """Return the normalised lines of a file, without bullets: what `normalize_statement` gives for a fact in it."""
    return frozenset(normalize_statement(line) for line in text.splitlines())


def _render(text: str, facts: Sequence[str], today: date) -> str:
    heading = f"{CAPTURED_HEADING} {today.isoformat()}"
    headings = [line.strip() for line in text.splitlines() if line.startswith("#")]
    start = "" if not text or text.endswith("\n") else "\n"
    if headings[-1:] != [heading]:
        start += f"{chr(10) if text else ''}{heading}\n\n"
    return start + "".join(f"- {fact}\n" for fact in facts)


def _digest(line: str) -> str:
    return hashlib.sha256(normalize_statement(line).encode()).hexdigest()[:_DIGEST_CHARACTERS]


def _read_digests(path: Path) -> list[str]:
    try:
        return path.read_text("ascii", "replace").split()
    except FileNotFoundError:
        return []


def _append(path: Path, text: str) -> None:
    link = 0 if may_be_link(path) else os.O_NOFOLLOW
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | link, PRIVATE_FILE)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(text)


def _replace(path: Path, data: bytes) -> None:
    # One name for all: whoever is killed here leaves one copy of a private text, which the next edit takes away.
    arriving = path.with_name(f".{path.name}{ARRIVING}")
    arriving.unlink(missing_ok=True)
    descriptor = os.open(arriving, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        arriving.replace(path)
    except BaseException:
        with suppress(OSError):
            arriving.unlink()
        raise


@contextmanager
def _lock(folder: Path) -> Generator[None]:
    import fcntl  # lazy: it exists on Unix only

    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
