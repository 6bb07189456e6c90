"""Lines of a parsed export, one conversation each: what the program `export_worker` hands to the host."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import orjson

from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.features.imports.conversation import Conversation, Unreadable

MAX_MESSAGES: Final = 20_000
"""Messages of one conversation. It is one write to the store, during which other writes wait."""
MAX_CONVERSATION_BYTES: Final = 8 * 1024 * 1024
"""Size of one conversation, which the host has in memory as a whole."""

MAX_VALUES: Final = 500_000
"""JSON values of one conversation: an empty one takes three bytes in the file and about a hundred in the host."""

_FACTS: Final = ("source", "source_id", "title", "model", "planning", "pinned", "archived")
_TIMES: Final = ("created_at", "updated_at")


def write_conversations(target: Path, conversations: Iterable[Conversation | Unreadable]) -> None:
    """Write each conversation as a line; one beyond the limits becomes unreadable."""
    with target.open("wb") as file:
        for each in conversations:
            file.write(_to_line(each))


def read_conversations(file: BinaryIO) -> Iterator[Conversation | Unreadable]:
    """Yield the conversations of the lines, so that no more than one is in memory."""
    for line in file:
        yield _from_json(orjson.loads(line))


def _to_line(parsed: Conversation | Unreadable) -> bytes:
    if isinstance(parsed, Conversation):
        count = len(parsed.records)
        if count > MAX_MESSAGES:
            reason = f"it has {count:,} messages; at most {MAX_MESSAGES:,} are imported"
            return _to_line(Unreadable(parsed.title or parsed.source_id[:60], reason))
        content = _to_json(parsed)
        if not has_few_values(content):
            reason = f"it has more than {MAX_VALUES:,} values of JSON"
            return _to_line(Unreadable(parsed.title or parsed.source_id[:60], reason))
        line = orjson.dumps(content)
        if len(line) <= MAX_CONVERSATION_BYTES:
            return line + b"\n"
        reason = f"it has {len(line):,} bytes; at most {MAX_CONVERSATION_BYTES:,} are imported"
        parsed = Unreadable(parsed.title or parsed.source_id[:60], reason)
    return orjson.dumps({"title": parsed.title, "reason": parsed.reason}) + b"\n"


def has_few_values(content: object) -> bool:
    """Return whether JSON data has at most `MAX_VALUES` values, those within others included."""
    waiting, count = [content], 0
    while waiting and count <= MAX_VALUES:
        each = waiting.pop()
        if isinstance(each, Mapping):
            each = [*cast("Mapping[str, object]", each).values()]
        if isinstance(each, list | tuple):
            inner = cast("Sequence[object]", each)
            count += len(inner)
            waiting += inner
    return count <= MAX_VALUES


def _to_json(conversation: Conversation) -> dict[str, Any]:
    records = [
        (each.kind, each.message and each.message.to_json(), dict(each.data), each.at) for each in conversation.records
    ]
    return {name: getattr(conversation, name) for name in (*_FACTS, *_TIMES)} | {"records": records}


def _from_json(item: dict[str, Any]) -> Conversation | Unreadable:
    if "records" not in item:
        return Unreadable(item["title"], item["reason"])
    times: dict[str, Any] = {name: _to_time(item[name]) for name in _TIMES}
    records = [
        SessionRecord(kind, "", Message.from_json(message) if message else None, data, at=_to_time(at))
        for kind, message, data, at in item["records"]
    ]
    return Conversation(**{name: item[name] for name in _FACTS}, **times, records=records)


def _to_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
