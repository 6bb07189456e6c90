"""Check of an SQLite write-ahead log for committed transactions that SQLite would silently discard.

SQLite reads a log up to the first frame that is not valid, and takes a log with an invalid header for an empty one.
After a crash both are normal: a header that was never completed precedes no frame, and the end of the log may hold a
transaction that was being written. With `synchronous=FULL`, however, a transaction is on the disk before the next one
is begun. So a frame after a commit, that continues its checksum, proves that everything up to that commit was
acknowledged; if SQLite stops before it, the log is damaged. The last transaction of a log alone proves nothing: after a
power failure it may lie on the disk in parts. Source: sqlite.org/fileformat2.html 4 (format, checksum, salts).
"""

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass

BIG_ENDIAN_MAGIC = 0x377F0683
LITTLE_ENDIAN_MAGIC = 0x377F0682
FORMAT_VERSION = 3007000
HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
MIN_PAGE_BYTES, MAX_PAGE_BYTES = 512, 65536

Checksum: TypeAlias = tuple[int, int]
ByteOrder: TypeAlias = Literal["<", ">"]


@dataclass(frozen=True, slots=True)
class _Frame:
    page: int
    is_commit: bool
    salts: bytes
    checksum: Checksum
    content: bytes
    """The bytes that the checksum covers."""


def find_log_problem(file: Path, deadline: float | None = None) -> str | None:
    """Return what is wrong with the log beside a database file, None if nothing is lost.

    The check ends without a result at `deadline` (of time.monotonic). The log may be in use by another process: damage
    counts if the same is found twice. Raises OSError.
    """
    log = Path(f"{file}-wal")
    if not log.is_file() or not log.stat().st_size:
        return None
    if not file.stat().st_size:
        return f"it is empty, but {log.name} beside it is not"
    problem = _find_problem(log, deadline)
    if problem is not None and _find_problem(log, deadline) == problem:
        return problem
    return None


def compute_checksum(content: bytes, seed: Checksum, order: ByteOrder) -> Checksum:
    """Return SQLite's checksum of `content`, a multiple of 8 bytes, continued from `seed`."""
    first, second = seed
    words = iter(struct.unpack(f"{order}{len(content) // 4}I", content))
    for even, odd in zip(words, words, strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _find_problem(log: Path, deadline: float | None) -> str | None:
    with log.open("rb") as opened:
        header = opened.read(HEADER_BYTES)
        if len(header) < HEADER_BYTES:  # nothing was acknowledged yet
            return None
        problem = _check_header(header)
        if problem is None:
            problem = _find_lost_commit(opened, header, deadline)
        elif problem.startswith("has") and not _holds_commit(opened, header):
            problem = None
        opened.seek(0)
        is_unchanged = opened.read(HEADER_BYTES) == header
    return f"{log.name} {problem}" if problem is not None and is_unchanged else None


def _check_header(header: bytes) -> str | None:
    magic, version, page_bytes = struct.unpack_from(">3I", header)
    if magic not in (BIG_ENDIAN_MAGIC, LITTLE_ENDIAN_MAGIC) and any(header):
        return "is no write-ahead log"
    order: ByteOrder = ">" if magic == BIG_ENDIAN_MAGIC else "<"
    if magic == 0 or compute_checksum(header[:24], (0, 0), order) != struct.unpack_from(">2I", header, 24):
        return "has a damaged header"
    if version != FORMAT_VERSION:
        return f"has the unknown format version {version}"
    if not _is_page_size(page_bytes):
        return f"has the impossible page size {page_bytes}"
    return None


def _holds_commit(opened: BinaryIO, header: bytes) -> bool:
    """Return whether a frame that ends a transaction follows a header of which no field is certain."""
    page_bytes = struct.unpack_from(">I", header, 8)[0]
    sizes = [page_bytes] if _is_page_size(page_bytes) else [512 << power for power in range(8)]
    for size in sizes:
        opened.seek(HEADER_BYTES)
        if any(frame.page and frame.is_commit for frame in _read_frames(opened, size)):
            return True
    return False


def _find_lost_commit(opened: BinaryIO, header: bytes, deadline: float | None) -> str | None:
    order: ByteOrder = ">" if struct.unpack_from(">I", header)[0] == BIG_ENDIAN_MAGIC else "<"
    salts, page_bytes = header[16:24], struct.unpack_from(">I", header, 8)[0]
    seed: Checksum = struct.unpack_from(">2I", header, 24)
    broken: int | None = None
    # The checksums from which the next frame may continue, if the previous one ends a transaction of this log.
    after_commit: set[Checksum] = set()
    for number, frame in enumerate(_read_frames(opened, page_bytes), start=1):
        if deadline is not None and time.monotonic() > deadline:
            return None
        is_ours = frame.salts == salts and frame.page != 0
        if broken is None:
            computed = compute_checksum(frame.content, seed, order)
            if is_ours and computed == frame.checksum:
                seed = computed
                continue
            broken = number
            after_commit = {computed, frame.checksum} if frame.is_commit else set()
            continue
        if is_ours and any(compute_checksum(frame.content, each, order) == frame.checksum for each in after_commit):
            return f"is damaged in frame {broken}: transactions after it would be lost"
        after_commit = {frame.checksum} if is_ours and frame.is_commit else set()
    return None


def _read_frames(opened: BinaryIO, page_bytes: int) -> Iterator[_Frame]:
    """Yield the complete frames from the current position on."""
    size = FRAME_HEADER_BYTES + page_bytes
    while len(frame := opened.read(size)) == size:
        page, pages_after_commit = struct.unpack_from(">2I", frame)
        checksum: Checksum = struct.unpack_from(">2I", frame, 16)
        content = frame[:8] + frame[FRAME_HEADER_BYTES:]
        yield _Frame(page, pages_after_commit != 0, frame[8:16], checksum, content)


def _is_page_size(size: int) -> bool:
    return MIN_PAGE_BYTES <= size <= MAX_PAGE_BYTES and size & (size - 1) == 0
