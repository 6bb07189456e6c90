"""Depth limit of nested JSON in the arguments of a tool call, checked without recursion."""

from typing import cast


def is_within_depth(value: object, max_depth: int) -> bool:
    """Return whether lists and objects are nested at most `max_depth` levels deep."""
    level: list[object] = [value]
    for _ in range(max_depth):
        level = [child for each in level for child in _children(each)]
        if not level:
            return True
    return not any(isinstance(each, dict | list) for each in level)


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast(dict[str, object], value).values())
    return cast(list[object], value) if isinstance(value, list) else []
