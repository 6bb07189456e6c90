"""JSON-safe values: convert any logged value to redacted JSON data, so that no log record is lost."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from sophon_hosting.observing.redaction import HIDDEN, names_a_secret

DEEPEST = 8
MOST = 200
"""Limits of nesting levels and of entries per level; the rest becomes `…`."""

LONGEST = 32_000
"""Maximum length of one text, in characters."""

EDGE = 4_096
"""Overlap in characters that is redacted beyond a cut; a longer secret at the cut may be shown in part."""

Redact = Callable[[str], str]
"""Function that removes secrets from a text."""


def plain(value: object, redact: Redact, path: tuple[int, ...] = ()) -> Any:
    """Return the value as redacted JSON data; `path` holds the ids of the enclosing containers.

    The value of a field with a secret's name is redacted completely. Integers beyond 64 bits become hexadecimal text,
    values without a JSON form their `str`, and recursive containers `…`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return clean(value, redact)
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else hex(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        if id(value) in path or len(path) >= DEEPEST:  # pyright: ignore[reportUnknownArgumentType] - whatever is logged
            return "…"
        try:
            container = cast("Mapping[object, object] | list[object]", value)
            return _container_to_jsonable(container, redact, (*path, id(container)))
        except Exception:  # noqa: BLE001 - changed by another thread, or iteration fails
            return clean(told(value), redact)  # pyright: ignore[reportUnknownArgumentType] - the same
    return clean(told(value), redact)


def clean(text: str, redact: Redact) -> str:
    """Return the text without secrets, encodable as UTF-8 and cut to `LONGEST`."""
    text = _cut(text, redact) if len(text) > LONGEST else redact(text)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def told(value: object) -> str:
    """Return `str(value)`, or a placeholder if it raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return f"<{type(value).__name__} (str() failed)>"


def _container_to_jsonable(value: Mapping[object, object] | list[object], redact: Redact, path: tuple[int, ...]) -> Any:
    if not isinstance(value, Mapping):
        entries = [plain(item, redact, path) for _, item in zip(range(MOST), value, strict=False)]
        return entries if len(value) <= MOST else [*entries, "…"]
    fields: dict[str, Any] = {}
    for _, (key, item) in zip(range(MOST), value.items(), strict=False):
        name = told(key)
        fields[clean(name, redact)] = HIDDEN if names_a_secret(name) and item else plain(item, redact, path)
    return fields if len(value) <= MOST else {**fields, "…": len(value) - MOST}


def _cut(text: str, redact: Redact) -> str:
    """Redact the visible part plus a margin before cutting, so that no part of a secret remains at the cut."""
    redacted = redact(text[: LONGEST + EDGE])
    end = min(LONGEST, len(redacted) - EDGE) if len(text) > LONGEST + EDGE else LONGEST
    return f"{redacted[: max(end, 0)]}… (cut; {len(text)} characters in total)"
