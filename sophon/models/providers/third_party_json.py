"""Tolerant reading of JSON that a third party sent: a field of the wrong type counts as absent, and nothing raises."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """Return the value if it is an array, else an empty one."""
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def as_text(value: object) -> str:
    """Return the value if it is a text, an integer as text, else an empty text; a lone surrogate becomes `?`.

    UTF-8 has no lone surrogates, so a request that repeats one could not be sent.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else ""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def as_count(value: object) -> int | None:
    """Return a whole number, also if it was sent as a float or a text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    is_number = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 18
    return int(cast(str, value)) if is_number else None
