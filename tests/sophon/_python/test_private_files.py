"""What the host writes is for its own account only, whatever the umask is."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sophon._python.private_files import (
    create_private_file,
    make_private_folder,
    needs_tightening,
    open_new_private_file,
    tighten_file,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def permissive_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_every_created_folder_is_private_and_existing_ones_keep_their_mode(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(0o755)
    make_private_folder(tmp_path / "there" / "a" / "b")
    make_private_folder(tmp_path / "there" / "a" / "b")
    assert [mode(tmp_path / "there" / name) for name in ("", "a", "a/b")] == [0o755, 0o700, 0o700]


def test_a_file_where_the_folder_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")


def test_a_created_file_is_private_and_an_existing_one_stays(tmp_path: Path) -> None:
    create_private_file(tmp_path / "a")
    with open_new_private_file(tmp_path / "b") as file:
        file.write("text")
    (tmp_path / "b").chmod(0o640)
    create_private_file(tmp_path / "b")
    assert (mode(tmp_path / "a"), mode(tmp_path / "b")) == (0o600, 0o640)
    assert (tmp_path / "b").read_text() == "text"
    with pytest.raises(FileExistsError):
        open_new_private_file(tmp_path / "b")


@pytest.mark.parametrize(
    ("before", "after"),
    [(0o644, 0o600), (0o664, 0o600), (0o666, 0o600), (0o604, 0o600), (0o600, 0o600), (0o660, 0o660)],
)
def test_a_file_that_everybody_may_read_is_tightened(tmp_path: Path, before: int, after: int) -> None:
    file = tmp_path / "sophon.db"
    file.touch()
    file.chmod(before)
    assert needs_tightening(before) is (before != after)
    assert tighten_file(file) is (before != after)
    assert mode(file) == after


def test_a_missing_file_and_a_folder_are_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert not tighten_file(tmp_path / "missing")
    assert not tighten_file(tmp_path)
