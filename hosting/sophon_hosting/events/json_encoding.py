"""JSON for clients: encoding, size."""

import json
from typing import Any

import orjson


def encode_json(value: Any) -> str:
    """Encode JSON data; a lone surrogate, which a model can produce, becomes an escape sequence."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def json_bytes(value: Any) -> int:
    """Return the size of a value as JSON in UTF-8."""
    return len(encode_json(value).encode())
