"""Reader of files that services export: JSON, or a zip archive that contains `conversations.json`."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import orjson

from sophon.errors import InputError
from sophon_hosting.features.imports.chatgpt_export import parse_chatgpt
from sophon_hosting.features.imports.claude_export import parse_claude
from sophon_hosting.features.imports.conversation import (
    Conversation,
    Unreadable,
    UnreadableConversation,
    clean_title,
    get_items,
    get_mapping,
)
from sophon_hosting.features.imports.sophon_export import parse_exported_session

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""Size of a file, and of the JSON in an archive: it is in memory as a whole, as Python values about five times that.
`export_reader` reads it in a process of its own."""

MAX_CONVERSATIONS: Final = 20_000
"""Conversations of a file, readable or not; the largest known exports have a few thousand."""

MAX_LINES: Final = 500_000
"""Lines of a file of JSON lines; the export of a person has one for each conversation and each memory entry."""

FORMS: Final = "an export of Sophon, or conversations.json of ChatGPT or Claude, or the zip archive that contains it"

_ZIP_BEGINNING: Final = b"PK\x03\x04"
_CONVERSATIONS: Final = re.compile(r"(.*/)?conversations(-\d+)?\.json")
"""Large exports of ChatGPT are in several numbered files."""


def read_export(content: bytes) -> Sequence[Conversation | Unreadable]:
    """Return the conversations of a file in their order. Raises InputError for a file that is no export."""
    documents = _unpack(content) if content.startswith(_ZIP_BEGINNING) else [content]
    items = [item for document in documents for item in _list_items(_parse_json(document))]
    if len(items) > MAX_CONVERSATIONS:
        raise InputError(
            f"the file has {len(items):,} conversations; at most {MAX_CONVERSATIONS:,} are imported at a time"
        )
    return [_parse(item, number) for number, item in enumerate(items, 1)]


def _unpack(content: bytes) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [each for each in archive.infolist() if _CONVERSATIONS.fullmatch(each.filename)]
            if not members:
                raise InputError(f"the archive has no conversations.json; a file to import is {FORMS}")  # noqa: TRY301
            remaining = MAX_FILE_BYTES
            for member in sorted(members, key=lambda each: each.filename):
                with archive.open(member) as file:
                    # The size in the directory of an archive is only what its author says.
                    document = file.read(remaining + 1)
                remaining -= len(document)
                if remaining < 0:
                    raise InputError(f"the conversations in the archive are larger than {MAX_FILE_BYTES:,} bytes")  # noqa: TRY301
                yield document
    except (InputError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a hostile archive makes of a decompressor
        # Each compression has errors of its own: zlib.error, LZMAError, ZstdError, OSError for bzip2.
        raise InputError(f"the archive cannot be read: {str(error) or type(error).__name__}") from None


def _parse_json(document: bytes) -> object:
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError as error:
        # Titles that were cut in the middle of a character have lone surrogates, which orjson refuses.
        if "surrogate" in str(error):
            try:
                return _without_surrogates(json.loads(document))
            except (ValueError, RecursionError):
                pass
        return _parse_lines(document, error)


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        pairs = cast("Mapping[str, object]", value).items()
        return {_without_surrogates(key): _without_surrogates(each) for key, each in pairs}
    return value


def _parse_lines(document: bytes, error: orjson.JSONDecodeError) -> object:
    """Return the values of JSON lines, as the export of a person has them; raise InputError for anything else."""
    try:
        return _load_lines(document)
    except orjson.JSONDecodeError:
        if b"\0" in document:
            raise InputError(f"the file is neither text nor a zip archive; a file to import is {FORMS}") from None
        problem = f"{error.msg}, line {error.lineno}, column {error.colno}"
        raise InputError(f"the file is no JSON ({problem}); a file to import is {FORMS}") from None


def _load_lines(document: bytes) -> list[object]:
    values = list[object]()
    for line in io.BytesIO(document):
        if line.strip():
            values.append(orjson.loads(line))
        if len(values) > MAX_LINES:
            raise InputError(f"the file has more than {MAX_LINES:,} lines of JSON")
    return values or [orjson.loads(b"")]


def _list_items(document: object) -> Sequence[object]:
    found = document
    if isinstance(found, dict):
        given = cast("Mapping[str, Any]", found)
        found = given["conversations"] if isinstance(given.get("conversations"), list) else [given]
    items = get_items(found)
    if not any(_find_parser(each) is not None for each in items):
        raise InputError(f"the file has no conversations that are known here; a file to import is {FORMS}")
    # Lines of the export of a person that are no conversations, as memory, are for `sophon persons import`.
    return [each for each in items if not _is_other_line(get_mapping(each))]


def _is_other_line(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("kind"), str) and item["kind"] != "session"


def _parse(item: object, number: int) -> Conversation | Unreadable:
    parser = _find_parser(item)
    if parser is None:
        return Unreadable(f"number {number}", "it is no conversation")
    given = cast("Mapping[str, Any]", item)
    try:
        return parser(given)
    except UnreadableConversation as error:
        named = given.get("title") or given.get("name")
        return Unreadable(clean_title(named) or f"number {number}", str(error))


def _find_parser(item: object) -> Callable[[Mapping[str, Any]], Conversation] | None:
    if isinstance(item, dict):
        for key, parser in (("mapping", parse_chatgpt), ("chat_messages", parse_claude)):
            if key in item:
                return parser
        if "records" in item and ("session" in item or "id" in item):
            return parse_exported_session
    return None
