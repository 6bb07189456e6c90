"""When two tool calls are the same call, and two results the same result."""

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import orjson

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
_SHORT = 200
"""Characters up to which a text stands for itself; a longer one is replaced by its digest."""


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """A text that two calls share exactly if they mean the same: the order of arguments does not matter."""
    try:
        canonical = orjson.dumps((tool, arguments), default=_plain, option=_OPTIONS).decode()
    except (TypeError, RecursionError):  # beyond JSON: an integer of more than 64 bits, a lone surrogate, a cycle
        canonical = repr((tool, arguments))
    return fingerprint(canonical)


def fingerprint(text: str) -> str:
    """The text itself while it is short and plain, else a digest that is the same in every process."""
    if len(text) <= _SHORT and text.isascii():
        return text
    return "#" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _plain(value: object) -> object:
    return dict(cast(Mapping[object, object], value)) if isinstance(value, Mapping) else str(value)
