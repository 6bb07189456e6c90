"""Files are parsed in a process with limits: whatever they contain, one sentence or the conversations come back."""

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.testing import VirtualClock
from sophon_hosting.features.imports import export_file
from sophon_hosting.features.imports.conversation import Conversation, Unreadable
from sophon_hosting.features.imports.conversation_lines import MAX_MESSAGES, MAX_VALUES
from sophon_hosting.features.imports.export_file import read_export
from sophon_hosting.features.imports.export_reader import ExportReader
from tests.hosting.features.imports.exports import chatgpt_conversation, claude_conversation

GOOD = json.dumps([chatgpt_conversation(), claude_conversation()]).encode()


def archive(content: bytes, compression: int, name: str = "conversations.json") -> bytes:
    """A zip archive of one file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as file:
        file.writestr(name, content)
    return packed.getvalue()


async def read(path: Path, content: bytes) -> list[Conversation | Unreadable]:
    """What the process hands over of a file."""
    path.write_bytes(content)
    async with ExportReader(SystemClock()).open(path) as conversations:
        return list(conversations)


async def test_the_process_hands_over_what_the_parser_returns(tmp_path: Path) -> None:
    assert await read(tmp_path / "export", GOOD) == list(read_export(GOOD))


async def test_empty_items_of_a_small_archive_are_refused_by_their_number(tmp_path: Path) -> None:
    content = archive(b'[{"mapping":{}},' + b"{}," * 2_000_000 + b"{}]", zipfile.ZIP_DEFLATED)
    assert len(content) < 10_000
    with pytest.raises(InputError, match="2,000,002 conversations; at most 20,000"):
        await read(tmp_path / "export", content)


async def test_a_conversation_of_too_many_messages_is_skipped(tmp_path: Path) -> None:
    messages = [{"sender": ("human", "assistant")[each % 2], "text": "hi"} for each in range(MAX_MESSAGES + 1)]
    content = json.dumps([claude_conversation(chat_messages=messages), chatgpt_conversation()]).encode()
    skipped, kept = await read(tmp_path / "export", content)
    assert isinstance(kept, Conversation)
    assert isinstance(skipped, Unreadable)
    assert "20,001 messages" in skipped.reason


@pytest.mark.parametrize("where", ["arguments", "data"])
async def test_a_conversation_of_too_many_values_never_reaches_the_host(tmp_path: Path, where: str) -> None:
    values = '{"a":[' + "{}," * MAX_VALUES + "{}]}"
    call = f'{{"id":"c","name":"t","arguments":{values if where == "arguments" else "{}"}}}'
    message = f'{{"role":"assistant","content":"x","tool_calls":[{call}]}}'
    data = values if where == "data" else "{}"
    record = f'{{"kind":"message","run_id":"r","at":null,"message":{message},"data":{data}}}'
    content = f'[{{"id":"s","title":"large","records":[{record}]}}]'.encode()
    [skipped] = await read(tmp_path / "export", archive(content, zipfile.ZIP_DEFLATED, "conversations.json"))
    assert skipped == Unreadable("large", "it has more than 500,000 values of JSON")


async def test_a_parser_that_hangs_is_killed(tmp_path: Path) -> None:
    hanging = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    with pytest.raises(InputError, match="longer than 120 s"):
        async with ExportReader(VirtualClock(), hanging).open(tmp_path / "export"):
            pass


async def test_a_parser_that_the_kernel_ends_is_one_sentence(tmp_path: Path) -> None:
    killed = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    with pytest.raises(InputError, match="too much memory or time"):
        async with ExportReader(SystemClock(), killed).open(tmp_path / "export"):
            pass


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_refused_with_a_sentence_whatever_its_compression(compression: int) -> None:
    content = archive(GOOD, compression)
    start, refused = 30 + len("conversations.json"), list[str]()
    for at in (*range(start, start + 20), len(content) // 3, len(content) // 2):
        broken = bytearray(content)
        broken[at] ^= 0xFF
        try:
            assert read_export(bytes(broken)) == read_export(GOOD)  # a byte without a meaning for the content
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 10
    assert all(each.startswith("the archive cannot be read: ") for each in refused)


def with_flag(content: bytes, flag: int) -> bytes:
    """An archive whose entries have a flag: 1 is "encrypted"."""
    changed = bytearray(content)
    changed[6] |= flag
    changed[content.index(b"PK\x01\x02") + 8] |= flag
    return bytes(changed)


def with_compression(content: bytes, number: int) -> bytes:
    """An archive whose entries name another compression: 93 is zstd."""
    changed = bytearray(content)
    changed[8] = changed[content.index(b"PK\x01\x02") + 10] = number
    return bytes(changed)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (with_flag(archive(GOOD, zipfile.ZIP_DEFLATED), 1), "encrypted"),
        (with_compression(archive(GOOD, zipfile.ZIP_DEFLATED), 77), "compression"),
        (with_compression(archive(GOOD, zipfile.ZIP_DEFLATED), 93), "cannot be read"),
        (archive(archive(GOOD, zipfile.ZIP_STORED), zipfile.ZIP_STORED), "no JSON|neither text"),
        (archive(GOOD, zipfile.ZIP_STORED)[:100], "cannot be read"),
        (b"\n".join([b"1"] * (export_file.MAX_LINES + 2)), "more than 500,000 lines"),
    ],
    # An archive has the time at which it was made: the processes of a run would not collect the same tests.
    ids=["encrypted", "unknown compression", "zstd", "archive in an archive", "cut off", "lines"],
)
def test_an_archive_that_cannot_be_read_says_why(content: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_export(content)
