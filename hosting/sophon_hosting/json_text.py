"""JSON for clients: encoding, size, pages of limited size."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import orjson

Item = TypeVar("Item", bound=Mapping[str, Any])


def encode_json(value: Any) -> str:
    """Encode JSON data; a lone surrogate, which a model can produce, becomes an escape sequence."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def json_bytes(value: Any) -> int:
    """Return the size of a value as JSON in UTF-8."""
    return len(encode_json(value).encode())


def take_items(items: list[Item], max_bytes: int) -> list[Item]:
    """Return as many of the first items as have at most `max_bytes` of JSON together, but at least one."""
    remaining_bytes = max_bytes
    for index, item in enumerate(items):
        remaining_bytes -= json_bytes(item) + 1
        if remaining_bytes < 0:
            return items[: max(index, 1)]
    return items
