"""Index of the Markdown files of a workspace folder, in the memory of the process: chunks with their line numbers.

It is brought up to date before each search: of a folder with hundreds of files only those that have changed are read,
and only chunks with a new text are split into words. It is not stored, so a deleted file leaves nothing behind.
"""

import hashlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Final
from weakref import WeakSet

from sophon._python.lazy_dataclass import dataclass
from sophon.memory.chunks import split_into_chunks
from sophon.memory.full_text_scan import tokenize
from sophon.memory.keyword_search import MAX_WORD_CHARACTERS, FoundText, search_words
from sophon.memory.workspace_files import WORKSPACE_FILES, list_workspace_files, open_workspace_file

log = logging.getLogger("sophon")

MAX_FILES: Final = 200
"""Files of a folder that are indexed: the first by name."""

MAX_FILE_BYTES: Final = 1_000_000
"""Bytes of a file that are indexed: its beginning."""

MAX_FOLDER_BYTES: Final = 2_000_000
"""Bytes of a folder that are indexed: its first files by name. Reading so much for the first time takes 2 s."""

MAX_CHUNKS: Final = 20_000
"""Chunks that are kept of all folders together, about 60 MB. The folders used last stay."""

_IN_PROMPTS: Final = frozenset(file.name for file in WORKSPACE_FILES if file.is_private)


@dataclass(frozen=True, slots=True)
class FileChunk:
    """Lines `first_line` to `last_line` (from 1, inclusive) of a file of the workspace.

    `is_trusted`: the file is one of those that stand in prompts; of others nobody knows who has written them.
    """

    file: str
    first_line: int
    last_line: int
    text: str
    digest: bytes
    is_trusted: bool

    @property
    def id(self) -> str:
        """`MEMORY.md:12-30`: what `read_lines` takes."""
        return f"{self.file}:{self.first_line}-{self.last_line}"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a folder, its size in bytes, and what changes with its text."""

    path: Path
    size: int
    stamp: object


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as it was when it was read: `stamp` is its time of change, size and inode."""

    stamp: object
    chunks: Sequence[FileChunk]


@dataclass(frozen=True, slots=True)
class IndexedFolder:
    """The chunks of a folder, their words by digest, and for each word the numbers of the chunks that have it."""

    files: Mapping[str, IndexedFile]
    chunks: Sequence[FileChunk]
    words: Mapping[bytes, Sequence[str]]
    numbers: Mapping[str, frozenset[int]]

    def search(self, query: str, limit: int) -> list[FileChunk]:
        """Return the chunks that share words with the query, best first."""
        return [self.chunks[number] for number in search_words(query, _ChunkWords(self), limit)]


EMPTY: Final = IndexedFolder({}, (), {}, {})


class WorkspaceIndex:
    """Indexes of folders, brought up to date when they are asked for. All methods but `forget` block on disk I/O.

    A file that cannot be read is left out; what is no file, a hidden one, and the files of everybody are not indexed.
    """

    def __init__(self) -> None:
        self._folders: OrderedDict[Path, IndexedFolder] = OrderedDict()
        _indexes.add(self)

    def refresh(self, folder: Path) -> IndexedFolder:
        """Return the index of a folder as its files are now."""
        known = self._folders.get(folder, EMPTY)
        listed = _list_files(folder)
        files = {each.path.name: _read_file(each, known) for each in _select_files(listed)}
        if files == known.files:
            return known
        if len(files) < len(listed):
            log.warning("%s has too many or too large files: %d of %d are searched", folder, len(files), len(listed))
        found = _build(files, known)
        self._folders.pop(folder, None)
        if found.chunks:
            self._folders[folder] = found
        while len(self._folders) > 1 and sum(len(each.chunks) for each in self._folders.values()) > MAX_CHUNKS:
            self._folders.popitem(last=False)
        return found

    def forget(self) -> None:
        """Forget everything that was read."""
        self._folders.clear()


_indexes: WeakSet[WorkspaceIndex] = WeakSet()


def forget_workspace_indexes() -> None:
    """Forget what the indexes of this process hold: some files may have been deleted."""
    for index in list(_indexes):
        index.forget()


def is_in_prompts(chunk_id: str) -> bool:
    """Return whether an id names lines of a file that stands in prompts, and so is trusted."""
    return chunk_id.rpartition(":")[0] in _IN_PROMPTS


def read_lines(folder: Path, chunk_id: str, max_characters: int) -> str | None:
    """Return lines of an indexed file by an id such as `MEMORY.md:12-30`, as they are now; None if there are none.

    Each begins with its number. What follows `max_characters` is left out.
    """
    name, _, lines = chunk_id.rpartition(":")
    first, _, last = lines.partition("-")
    if not (first.isdecimal() and last.isdecimal()) or name not in {path.name for path in list_workspace_files(folder)}:
        return None
    text = _read_text(folder / name)
    wanted = [*enumerate(text.split("\n"), 1)][max(int(first) - 1, 0) : int(last)]
    return "\n".join(f"{number}: {line}" for number, line in wanted)[:max_characters] or None


class _ChunkWords:
    """See `WordIndex`."""

    def __init__(self, folder: IndexedFolder) -> None:
        self._folder = folder

    def count_entries(self, limit: int) -> int:
        return min(len(self._folder.chunks), limit)

    def count(self, word: str, limit: int) -> int:
        return min(len(self._folder.numbers.get(word, ())), limit)

    def list_newest(self, words: Sequence[str], limit: int) -> list[FoundText]:
        first, *others = (self._folder.numbers.get(word, frozenset()) for word in words)
        numbers = sorted(first.intersection(*others), reverse=True)[:limit]
        return [FoundText(each, self._folder.words[self._folder.chunks[each].digest]) for each in numbers]


def _list_files(folder: Path) -> list[ListedFile]:
    """Return the Markdown files of a folder, by name."""
    found: list[ListedFile] = []
    for path in list_workspace_files(folder):
        with suppress(OSError):  # deleted at this moment
            status = path.stat()
            found.append(ListedFile(path, status.st_size, (status.st_mtime_ns, status.st_size, status.st_ino)))
    return found


def _select_files(listed: Sequence[ListedFile]) -> list[ListedFile]:
    """Return the files that are indexed."""
    sizes = accumulate(min(each.size, MAX_FILE_BYTES) for each in listed)
    return [each for each, size in zip(listed, sizes, strict=True) if size <= MAX_FOLDER_BYTES][:MAX_FILES]


def _read_file(listed: ListedFile, known: IndexedFolder) -> IndexedFile:
    path, before = listed.path, known.files.get(listed.path.name)
    if before is not None and before.stamp == listed.stamp:
        return before
    chunks = [
        FileChunk(
            path.name,
            each.first_line,
            each.last_line,
            each.text,
            hashlib.blake2b(each.text.encode("utf-8", "surrogatepass"), digest_size=16).digest(),
            path.name in _IN_PROMPTS,
        )
        for each in split_into_chunks(_read_text(path))
    ]
    return IndexedFile(listed.stamp, chunks)


def _read_text(path: Path) -> str:
    try:
        with open_workspace_file(path) as file:
            found = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        log.warning("%s is not searched: %s", path, error.strerror or error)
        return ""
    if len(found) > MAX_FILE_BYTES:
        log.warning("%s is larger than %d bytes: only its beginning is searched", path, MAX_FILE_BYTES)
    return found[:MAX_FILE_BYTES].decode("utf-8", "replace")


def _build(files: Mapping[str, IndexedFile], known: IndexedFolder) -> IndexedFolder:
    chunks = [chunk for file in files.values() for chunk in file.chunks]
    words: dict[bytes, Sequence[str]] = {}
    numbers: dict[str, set[int]] = {}
    for number, chunk in enumerate(chunks):
        found = words.get(chunk.digest) or known.words.get(chunk.digest)
        if found is None:
            found = [word[:MAX_WORD_CHARACTERS] for word in tokenize(chunk.text)]
        words[chunk.digest] = found
        for word in Counter(found):
            numbers.setdefault(word, set()).add(number)
    return IndexedFolder(files, chunks, words, {word: frozenset(each) for word, each in numbers.items()})
