"""A file on its way out: what lay there when it was allowed, or nothing."""

import os
from pathlib import Path

import pytest

from sophon_channels.errors import ChannelError
from sophon_channels.outbound_file import OutboundFile, build_file_fields


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a file, and beside it a secret."""
    root = tmp_path.resolve()
    for name, content in (("open/file.txt", b"content"), ("secret/file.txt", b"secret")):
        (root / name).parent.mkdir()
        (root / name).write_bytes(content)
    return root


def a_file(path: Path) -> OutboundFile:
    file = OutboundFile.from_payload(build_file_fields(str(path), "", "text/plain"))
    assert file is not None
    return file


def test_a_file_is_read_from_its_beginning(folder: Path) -> None:
    with a_file(folder / "open/file.txt").open(7) as stream:
        assert stream.read() == b"content"


def test_a_payload_without_a_file_has_none() -> None:
    assert OutboundFile.from_payload({"text": "hello"}) is None


def _linked(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent / "secret" / path.name)


def _linked_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to(path.parent.with_name("secret"))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [_linked, _linked_folder, _folder, _pipe, Path.unlink])
def test_what_has_taken_its_place_is_not_sent(folder: Path, change: object) -> None:
    path = folder / "open/file.txt"
    assert callable(change)
    change(path)
    with pytest.raises(ChannelError, match=r"the file 'file\.txt' cannot be sent"):
        a_file(path).open(100)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", "b.txt"), ('a"\r\nX: y', 'a"__X: y'), ("ä" * 300 + ".pdf", "ä" * 196 + ".pdf"), ("\ud83d", "\ufffd")],
)
def test_a_name_can_stand_in_a_header(name: str, expected: str) -> None:
    assert build_file_fields("/a/b.txt", name, "")["file_name"] == expected


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ("text/plain", "text/plain"),
        ("text/html; charset=utf-8", "text/html"),
        ("application/vnd.a+json", "application/vnd.a+json"),
        ("", "application/octet-stream"),
        ("text", "application/octet-stream"),
        ("text/plain\r\nX-Evil: 1", "application/octet-stream"),
        ("text/pl\u00e4in", "application/octet-stream"),
        ("te\x00xt/plain", "application/octet-stream"),
    ],
)
def test_a_media_type_is_one_or_the_default(media_type: str, expected: str) -> None:
    assert build_file_fields("/a/b.txt", "", media_type)["media_type"] == expected


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\\b.txt", "c:\\x"])
def test_a_name_is_no_path(name: str) -> None:
    assert not set(build_file_fields("/a/b.txt", name, "")["file_name"]) & {"/", "\\"}
