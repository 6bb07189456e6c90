"""Parser for results of memory.search: a JSON list of entries, an object that contains one, or plain lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

_LIST_FIELDS = ("results", "entries", "memories", "items")
_TEXT_FIELDS = ("text", "content", "value")
_EMPTY_RESULT_PREFIXES = ("the memory is empty", "nothing", "no ", "none", "not found", "there is nothing", "[]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry found in memory; `id` is "" if the result has none."""

    text: str
    id: str = ""


def entries(result: str) -> list[Entry]:
    """Parse the entries in the order of the result; a text like "nothing found" has none."""
    try:
        data = orjson.loads(result)
    except orjson.JSONDecodeError:
        return _parse_lines(result)
    return [entry for item in _find_list(data) if (entry := _parse_entry(item)) is not None]


def _find_list(data: object) -> list[object]:
    if isinstance(data, list):
        return cast("list[object]", data)
    if isinstance(data, dict):
        fields = cast(Mapping[str, Any], data)
        for name in _LIST_FIELDS:
            if isinstance(fields.get(name), list):
                return cast("list[object]", fields[name])
    return []


def _parse_entry(item: object) -> Entry | None:
    if isinstance(item, str):
        return Entry(item)
    if not isinstance(item, dict):
        return None
    fields = cast(Mapping[str, Any], item)
    text = next((fields[name] for name in _TEXT_FIELDS if isinstance(fields.get(name), str)), None)
    return Entry(text, str(fields.get("id") or "")) if text else None


def _parse_lines(result: str) -> list[Entry]:
    lines = [line.strip().removeprefix("- ") for line in result.splitlines() if line.strip()]
    if not lines or lines[0].lower().startswith(_EMPTY_RESULT_PREFIXES):
        return []
    return [Entry(line) for line in lines]
