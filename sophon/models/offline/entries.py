"""Reads what memory.search gave: a JSON list of entries, an object that holds one, or plain lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

_LISTS = ("results", "entries", "memories", "items")
_TEXTS = ("text", "content", "value")
_NOTHING = ("the memory is empty", "nothing", "no ", "none", "not found", "there is nothing", "[]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in memory; `id` is "" where the search gave none."""

    text: str
    id: str = ""


def entries(result: str) -> list[Entry]:
    """The entries in the order of the search; an answer like "nothing found" has none."""
    try:
        data = orjson.loads(result)
    except orjson.JSONDecodeError:
        return _from_lines(result)
    return [entry for item in _items(data) if (entry := _entry(item)) is not None]


def _items(data: object) -> list[object]:
    if isinstance(data, list):
        return cast("list[object]", data)
    if isinstance(data, dict):
        fields = cast(Mapping[str, Any], data)
        for name in _LISTS:
            if isinstance(fields.get(name), list):
                return cast("list[object]", fields[name])
    return []


def _entry(item: object) -> Entry | None:
    if isinstance(item, str):
        return Entry(item)
    if not isinstance(item, dict):
        return None
    fields = cast(Mapping[str, Any], item)
    text = next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), None)
    return Entry(text, str(fields.get("id") or "")) if text else None


def _from_lines(result: str) -> list[Entry]:
    lines = [line.strip().removeprefix("- ") for line in result.splitlines() if line.strip()]
    if not lines or lines[0].lower().startswith(_NOTHING):
        return []
    return [Entry(line) for line in lines]
