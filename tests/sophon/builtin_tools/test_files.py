"""The file tools as a model sees them."""

import json
from pathlib import Path

import pytest

from sophon import Context, Risk
from sophon.builtin_tools.files import (
    DEFAULT_PAGE_CHARACTERS,
    decode_text_file,
    files_list,
    files_read,
    files_write,
    format_page,
)
from sophon.errors import InvalidArguments, ToolError
from tests.tables import table


async def test_a_file_is_written_read_and_listed(ctx: Context, root: Path) -> None:
    said = await files_write.invoke({"path": "notes/a.txt", "content": "Grüße\n"}, ctx)
    assert said == "Wrote 6 characters to notes/a.txt."
    assert (root / "notes" / "a.txt").read_text(encoding="utf-8") == "Grüße\n"
    assert await files_read.invoke({"path": "notes/a.txt"}, ctx) == "Grüße\n"
    assert json.loads(await files_list.invoke({}, ctx)) == [{"name": "notes", "kind": "folder"}]
    listed = json.loads(await files_list.invoke({"path": "notes"}, ctx))
    assert listed == [{"name": "a.txt", "kind": "file", "bytes": 8}]


async def test_appending_adds_to_the_end(ctx: Context) -> None:
    for line in ("one\n", "two\n"):
        await files_write.invoke({"path": "a.txt", "content": line, "append": True}, ctx)
    assert await files_read.invoke({"path": "a.txt"}, ctx) == "one\ntwo\n"


async def test_a_long_file_is_read_page_by_page(ctx: Context) -> None:
    await files_write.invoke({"path": "a.txt", "content": "x" * (DEFAULT_PAGE_CHARACTERS + 5)}, ctx)
    first = await files_read.invoke({"path": "a.txt"}, ctx)
    assert first.endswith(
        f"[characters 0 to {DEFAULT_PAGE_CHARACTERS} of {DEFAULT_PAGE_CHARACTERS + 5}; "
        f"continue with offset={DEFAULT_PAGE_CHARACTERS}]"
    )
    assert await files_read.invoke({"path": "a.txt", "offset": DEFAULT_PAGE_CHARACTERS}, ctx) == "xxxxx"


@table(
    ("text", "offset", "limit", "expected"),
    [
        ("", 0, 10, ""),
        ("abc", 0, 3, "abc"),
        ("abc", 1, 5, "bc"),
        ("abcd", 1, 2, "bc\n[characters 1 to 3 of 4; continue with offset=3]"),
    ],
)
def test_a_page_says_how_to_go_on(text: str, offset: int, limit: int, expected: str) -> None:
    assert format_page(text, offset, limit) == expected


def test_a_page_past_the_end_is_refused() -> None:
    with pytest.raises(ToolError, match="has 3 characters"):
        format_page("abc", 3, 10)


@table("content", [b"\x89PNG\r\n", b"a\0b", b"\xff\xfea\0"])
def test_a_binary_file_is_refused(content: bytes) -> None:
    with pytest.raises(ToolError, match=r"binary|not a UTF-8 text file"):
        decode_text_file(content, "a.bin")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decode_text_file(b"\xef\xbb\xbfabc", "a.txt") == "abc"


@pytest.mark.parametrize("arguments", [{"path": "a", "offset": -1}, {"path": "a", "limit": 0}, {}])
async def test_arguments_out_of_range_are_refused(ctx: Context, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidArguments):
        await files_read.invoke(arguments, ctx)


async def test_a_missing_file_is_named_as_it_was_asked_for(ctx: Context, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"'a\.txt' cannot be used: it does not exist") as caught:
        await files_read.invoke({"path": "a.txt"}, ctx)
    assert str(tmp_path) not in str(caught.value)


def test_writing_asks_and_reading_is_fenced() -> None:
    assert (files_read.risk, files_list.risk, files_write.risk) == (Risk.LOW, Risk.LOW, Risk.HIGH)
    assert files_read.external
    assert files_list.external
    assert files_write.serial
