"""Parser for results of memory.search: a JSON list of entries, an object that contains one, or plain lines."""

from collections.abc import Mapping
from typing import Any, cast

import orjson

from sophon._python.lazy_dataclass import dataclass

_LIST_FIELDS = ("results", "entries", "memories", "items")
_TEXT_FIELDS = ("text", "content", "value")
_EMPTY_RESULT_PREFIXES = ("the memory is empty", "nothing", "no ", "none", "not found", "there is nothing", "[]")


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """One entry found in memory; `id` is "" if the result has none."""

    text: str
    id: str = ""


def parse_memory_hits(result: str) -> list[MemoryHit]:
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


def _parse_entry(item: object) -> MemoryHit | None:
    if isinstance(item, str):
        return MemoryHit(item)
    if not isinstance(item, dict):
        return None
    fields = cast(Mapping[str, Any], item)
    text = next((fields[name] for name in _TEXT_FIELDS if isinstance(fields.get(name), str)), None)
    return MemoryHit(text, str(fields.get("id") or "")) if text else None


def _parse_lines(result: str) -> list[MemoryHit]:
    lines = [line.strip().removeprefix("- ") for line in result.splitlines() if line.strip()]
    if not lines or lines[0].lower().startswith(_EMPTY_RESULT_PREFIXES):
        return []
    return [MemoryHit(line) for line in lines]
