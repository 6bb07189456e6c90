"""A damaged write-ahead log is refused before SQLite discards what it holds; what a crash leaves is not."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import StoreError
from sophon.stores.sql.sqlite_log_check import FRAME_HEADER_BYTES, HEADER_BYTES, compute_checksum, find_log_problem
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database

PAGE_BYTES = 512
FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES

CRASHING_WRITER = """
import os, random, sqlite3, sys
rng = random.Random(int(sys.argv[2]))
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.executescript(
    "PRAGMA page_size=512; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=20; PRAGMA cache_size=4; "
    "PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS t (x)"
)
while True:
    connection.execute("BEGIN IMMEDIATE")
    for _ in range(rng.randrange(1, 30)):
        connection.execute("INSERT INTO t VALUES (?)", (rng.randbytes(rng.randrange(900)),))
    connection.execute("ROLLBACK" if rng.random() < 0.3 else "COMMIT")
    count = connection.execute("SELECT count(*) FROM t").fetchone()[0]
    print(count, flush=True)
    if count > 400:
        connection.execute("DELETE FROM t")
"""


def write_log(file: Path, *, transactions: int = 6, restarted: bool = False) -> None:
    """Make a database whose log holds so many transactions; `restarted`: over an older generation of frames."""
    source = file.with_name("source.db")
    with closing(sqlite3.connect(source, isolation_level=None)) as connection:
        connection.executescript(f"PRAGMA page_size={PAGE_BYTES}; PRAGMA journal_mode=WAL; CREATE TABLE t (x)")
        if restarted:
            for number in range(12):
                connection.execute("INSERT INTO t VALUES (?)", (f"old {number} " * 60,))
            connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        for number in range(transactions):
            connection.execute("INSERT INTO t VALUES (?)", (f"row {number} " * 60,))
        for suffix in ("", "-wal"):
            shutil.copy(f"{source}{suffix}", f"{file}{suffix}")


def change(file: Path, position: int, mask: int) -> None:
    log = Path(f"{file}-wal")
    content = bytearray(log.read_bytes())
    content[position] ^= mask
    log.write_bytes(content)


@pytest.fixture(scope="module", params=[False, True], ids=["fresh", "restarted"])
def intact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("intact") / "t.db"
    write_log(file, restarted=request.param)
    return file


@pytest.fixture
def copy(intact: Path, tmp_path: Path) -> Path:
    for suffix in ("", "-wal"):
        shutil.copy(f"{intact}{suffix}", tmp_path / f"t.db{suffix}")
    return tmp_path / "t.db"


def test_an_intact_log_passes(copy: Path) -> None:
    assert find_log_problem(copy) is None


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_changed_byte_of_the_header_is_found(copy: Path, mask: int) -> None:
    for position in range(HEADER_BYTES):
        change(copy, position, mask)
        assert find_log_problem(copy) is not None, position
        change(copy, position, mask)


def test_a_changed_byte_anywhere_in_the_first_frames_is_found(copy: Path) -> None:
    """Each byte of their headers, and every seventh of their pages, whose checksum is made of words of four bytes."""
    rng = random.Random(20)
    for position in range(HEADER_BYTES, HEADER_BYTES + 3 * FRAME_BYTES):
        if (position - HEADER_BYTES) % FRAME_BYTES >= FRAME_HEADER_BYTES and position % 7:
            continue
        mask = rng.randrange(1, 256)
        change(copy, position, mask)
        problem = find_log_problem(copy)
        frame = (position - HEADER_BYTES) // FRAME_BYTES + 1
        assert problem == f"t.db-wal is damaged in frame {frame}: transactions after it would be lost", position
        change(copy, position, mask)


def test_a_header_of_zeros_before_transactions_is_found(copy: Path) -> None:
    log = Path(f"{copy}-wal")
    log.write_bytes(bytes(HEADER_BYTES) + log.read_bytes()[HEADER_BYTES:])
    assert find_log_problem(copy) == "t.db-wal has a damaged header"


def test_a_log_that_is_cut_off_anywhere_passes(copy: Path) -> None:
    log = Path(f"{copy}-wal")
    content = log.read_bytes()
    for length in range(len(content), 0, -37):
        log.write_bytes(content[:length])
        assert find_log_problem(copy) is None, length


def test_a_last_transaction_that_a_power_failure_left_in_parts_passes(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    write_log(file)
    log = Path(f"{file}-wal")
    content = bytearray(log.read_bytes())
    frames = (len(content) - HEADER_BYTES) // FRAME_BYTES
    commits = [
        number
        for number in range(frames)
        if any(content[HEADER_BYTES + number * FRAME_BYTES + 4 : HEADER_BYTES + number * FRAME_BYTES + 8])
    ]
    first_of_last = HEADER_BYTES + (commits[-2] + 1) * FRAME_BYTES
    assert commits[-1] > commits[-2] + 1
    content[first_of_last : first_of_last + FRAME_BYTES] = bytes(FRAME_BYTES)
    log.write_bytes(content)
    assert find_log_problem(file) is None


@pytest.mark.parametrize("content", [b"", b"\0" * 10, b"\0" * HEADER_BYTES, b"\0" * 5000])
def test_a_log_that_was_never_begun_passes(copy: Path, content: bytes) -> None:
    Path(f"{copy}-wal").write_bytes(content)
    assert find_log_problem(copy) is None


@given(words=st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=20).filter(lambda each: len(each) % 2 == 0))
def test_a_checksum_can_be_continued(words: list[int]) -> None:
    content = b"".join(each.to_bytes(4, "little") for each in words)
    halfway = compute_checksum(content[:8], (0, 0), "<")
    assert compute_checksum(content[8:], halfway, "<") == compute_checksum(content, (0, 0), "<")


@pytest.fixture
def killed_writer(tmp_path: Path) -> Callable[[int, int], Path]:
    def run(seed: int, lines: int) -> Path:
        file = tmp_path / f"{seed}.db"
        command = [sys.executable, "-c", CRASHING_WRITER, str(file), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        return file

    return run


def test_the_log_of_a_killed_writer_passes(killed_writer: Callable[[int, int], Path]) -> None:
    rng = random.Random(11)
    for seed in range(8):
        assert find_log_problem(killed_writer(seed, rng.randrange(1, 60))) is None, seed


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    copy_database(tmp_path)
    return tmp_path / "data" / "sophon.db"


async def test_no_command_opens_a_store_with_a_damaged_log_and_nothing_is_changed(store_file: Path) -> None:
    file = store_file
    write_log_of_store(file)
    change(file, 16, 1)
    before = {suffix: Path(f"{file}{suffix}").read_bytes() for suffix in ("", "-wal")}
    store = SqlHostStore(SQLITE, folder=file.parent.parent)
    for attempt in (store.maintenance.verify, store.open):
        with pytest.raises(StoreError, match=r"damaged .sophon\.db-wal has a damaged header.*left as it is"):
            await attempt()
    assert {suffix: Path(f"{file}{suffix}").read_bytes() for suffix in ("", "-wal")} == before


def write_log_of_store(file: Path) -> None:
    source = file.with_name("source.db")
    shutil.copy(file, source)
    with closing(sqlite3.connect(source, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("CREATE TABLE other (x)")
        for suffix in ("", "-wal"):
            shutil.copy(f"{source}{suffix}", f"{file}{suffix}")
