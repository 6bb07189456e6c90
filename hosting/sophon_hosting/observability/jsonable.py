"""JSON-safe values: convert any logged value to redacted JSON data, so that no log record is lost."""

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from sophon_hosting.observability.log_redaction import REDACTION_MARKER, is_secret_name

MAX_DEPTH = 8
MAX_ENTRIES = 200
"""Limits of nesting levels and of entries per level; the rest becomes `…`."""

MAX_TEXT_CHARACTERS = 32_000
"""Maximum length of one text, in characters."""

REDACTION_MARGIN_CHARACTERS = 4_096
"""Overlap in characters that is redacted beyond a cut; a longer secret at the cut may be shown in part."""

_LEAST_SECRET_NUMBER = 10**7
"""Secrets of fewer than 8 characters are not searched for."""

RedactText = Callable[[str], str]
"""Function that removes secrets from a text."""


def to_jsonable(value: object, redact: RedactText, ancestor_ids: tuple[int, ...] = ()) -> Any:
    """Return the value as redacted JSON data; `ancestor_ids` holds the ids of the enclosing containers.

    The value of a field with a secret's name is redacted completely. Integers beyond 64 bits become hexadecimal text,
    values without a JSON form their `str`, and recursive containers `…`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return sanitize_text(value, redact)
    if isinstance(value, int | float):
        return _number_to_jsonable(value, redact)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        if id(value) in ancestor_ids or len(ancestor_ids) >= MAX_DEPTH:  # pyright: ignore[reportUnknownArgumentType] - whatever is logged
            return "…"
        try:
            container = cast("Mapping[object, object] | list[object]", value)
            return _container_to_jsonable(container, redact, (*ancestor_ids, id(container)))
        except Exception:  # noqa: BLE001 - changed by another thread, or iteration fails
            return sanitize_text(safe_str(value), redact)  # pyright: ignore[reportUnknownArgumentType] - the same
    return sanitize_text(safe_str(value), redact)


def _number_to_jsonable(value: float, redact: RedactText) -> Any:
    """Return a number, or the marker for one that is a secret: a number of 8 digits or more can be a password."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return sanitize_text(hex(value), redact)
    if abs(value) >= _LEAST_SECRET_NUMBER and math.isfinite(value):
        shown = str(int(value))
        if redact(shown) != shown:
            return REDACTION_MARKER
    return float(value) if isinstance(value, float) else int(value)


def sanitize_text(text: str, redact: RedactText) -> str:
    """Return the text without secrets, encodable as UTF-8 and cut to `MAX_TEXT_CHARACTERS`."""
    text = _cut(text, redact) if len(text) > MAX_TEXT_CHARACTERS else redact(text)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def safe_str(value: object) -> str:
    """Return `str(value)`, or a placeholder if it raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return f"<{type(value).__name__} (str() failed)>"


def _container_to_jsonable(
    value: Mapping[object, object] | list[object], redact: RedactText, path: tuple[int, ...]
) -> Any:
    if not isinstance(value, Mapping):
        entries = [to_jsonable(item, redact, path) for _, item in zip(range(MAX_ENTRIES), value, strict=False)]
        return entries if len(value) <= MAX_ENTRIES else [*entries, "…"]
    fields: dict[str, Any] = {}
    for _, (key, item) in zip(range(MAX_ENTRIES), value.items(), strict=False):
        name = safe_str(key)
        fields[sanitize_text(name, redact)] = (
            REDACTION_MARKER if is_secret_name(name) and item else to_jsonable(item, redact, path)
        )
    return fields if len(value) <= MAX_ENTRIES else {**fields, "…": len(value) - MAX_ENTRIES}


def _cut(text: str, redact: RedactText) -> str:
    """Redact the visible part plus a margin before cutting, so that no part of a secret remains at the cut."""
    redacted = redact(text[: MAX_TEXT_CHARACTERS + REDACTION_MARGIN_CHARACTERS])
    end = (
        min(MAX_TEXT_CHARACTERS, len(redacted) - REDACTION_MARGIN_CHARACTERS)
        if len(text) > MAX_TEXT_CHARACTERS + REDACTION_MARGIN_CHARACTERS
        else MAX_TEXT_CHARACTERS
    )
    return f"{redacted[: max(end, 0)]}… (cut; {len(text)} characters in total)"
