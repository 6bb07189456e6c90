"""Targets: which files of the files folder a call would write, and that none is outside it."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.risk import Risk
from sophon.snapshots.targets import MAX_TARGETS, find_target_paths, find_written_accesses, may_write_file
from tests.tables import table

PATHS = st.lists(
    st.sampled_from(["a", "sub", "deep", "..", ".", "~", "out", "", ".sophon", "é", "x\0"]), min_size=1
).map("/".join)


@table(
    ("action_type", "risk", "arguments", "expected"),
    [
        ("write_file", Risk.NONE, {"path": "a"}, True),
        ("read_file", Risk.HIGH, {"path": "a"}, False),
        ("write_file", Risk.HIGH, {"text": "a"}, False),
        ("execute_command", Risk.NONE, {}, True),
        ("unknown", Risk.LOW, {"path": "a"}, False),
        ("unknown", Risk.MEDIUM, {"path": "a"}, True),
        ("unknown", Risk.MEDIUM, {"query": "a"}, False),
    ],
)
def test_which_calls_may_write_a_file(action_type: str, risk: Risk, arguments: dict[str, Any], expected: bool) -> None:
    assert may_write_file(action_type, risk, arguments) is expected


def find(root: Path, action_type: str, arguments: dict[str, Any]) -> list[str]:
    accesses, removes = find_written_accesses(action_type, arguments, str(root))
    return find_target_paths(accesses, str(root), removes=removes, excluded=str(root / ".sophon"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "sub" / "deep").mkdir(parents=True)
    for name in ("a", "sub/a", "sub/deep/b"):
        (root / name).write_text(name)
    (root / "out").symlink_to(tmp_path)
    (root / ".sophon").mkdir()
    (root / ".sophon" / "copy").write_text("kept")
    return root


@pytest.mark.parametrize(
    ("action_type", "arguments", "expected"),
    [
        ("write_file", {"path": "new/b"}, ["new/b"]),
        ("write_file", {"path": "out/b"}, []),
        ("write_file", {"path": "../b"}, []),
        ("write_file", {"path": ".sophon/copy"}, []),
        ("copy_file", {"source": "a", "destination": "sub"}, ["sub/a"]),
        ("move_file", {"source": "sub/a", "destination": "a"}, ["a", "sub/a"]),
        ("delete_directory", {"path": "sub"}, ["sub/a", "sub/deep/b"]),
        ("move_directory", {"source": "sub", "destination": "other"}, ["other", "sub/a", "sub/deep/b"]),
        ("delete_directory", {"path": ".."}, ["a", "sub/a", "sub/deep/b"]),
        ("delete_directory", {"path": "/"}, ["a", "sub/a", "sub/deep/b"]),
        ("delete_directory", {"path": "/usr"}, []),
        ("unknown", {"path": "sub"}, []),
        ("execute_command", {"command": "cat a"}, []),
        ("execute_command", {"command": "find sub -delete"}, ["sub/a", "sub/deep/b"]),
    ],
)
def test_the_targets_of_a_call(root: Path, action_type: str, arguments: dict[str, Any], expected: list[str]) -> None:
    assert sorted(find(root, action_type, arguments)) == expected


@given(PATHS, st.sampled_from(["write_file", "delete_directory", "move_file", "unknown"]))
def test_no_target_is_outside_the_folder(path: str, action_type: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "files")
        (root / "sub" / "deep").mkdir(parents=True)
        (Path(place) / "a").write_text("outside")
        (root / "out").symlink_to(place)
        for found in find(root, action_type, {"path": path, "destination": path}):
            assert os.path.realpath(root / found).startswith(f"{os.path.realpath(root)}/")
            assert ".." not in found.split("/")


def test_a_folder_of_many_files_is_not_walked_to_its_end(root: Path) -> None:
    for number in range(MAX_TARGETS + 5):
        (root / "sub" / str(number)).touch()
    assert len(find(root, "delete_directory", {"path": "sub"})) == MAX_TARGETS
