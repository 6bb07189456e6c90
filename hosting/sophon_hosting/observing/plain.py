"""Whatever is logged as something that JSON can hold: a line is never lost because of what stands in it."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from sophon_hosting.observing.redaction import HIDDEN, names_a_secret

DEEPEST = 8
MOST = 200
"""Of levels, and of entries on one; the rest is an `…`."""

LONGEST = 32_000
"""Characters of one text."""

EDGE = 4_096
"""Characters: a secret that is longer may be cut in two where a text ends that is far too long."""

Redact = Callable[[str], str]


def plain(value: object, redact: Redact, path: tuple[int, ...] = ()) -> Any:
    """The value as JSON data without secrets; `path` are the containers around it.

    A field whose name says that it holds a secret is blacked out whole. Numbers beyond 64 bits become hexadecimal
    text; what is no JSON becomes its `str`; a container inside itself becomes an `…`.
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
            return _container(cast("Mapping[object, object] | list[object]", value), redact, (*path, id(value)))  # pyright: ignore[reportUnknownArgumentType] - the same
        except Exception:  # noqa: BLE001 - one that another thread changes meanwhile, or that cannot be gone through
            return clean(told(value), redact)  # pyright: ignore[reportUnknownArgumentType] - the same
    return clean(told(value), redact)


def clean(text: str, redact: Redact) -> str:
    """The text without secrets, in characters that UTF-8 can hold, cut where it is too long."""
    text = _cut(text, redact) if len(text) > LONGEST else redact(text)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def told(value: object) -> str:
    """`str` of anything, also of what has none to give."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise whatever it likes
        return f"<{type(value).__name__} that cannot be shown>"


def _container(value: Mapping[object, object] | list[object], redact: Redact, path: tuple[int, ...]) -> Any:
    if not isinstance(value, Mapping):
        entries = [plain(each, redact, path) for _, each in zip(range(MOST), value, strict=False)]
        return entries if len(value) <= MOST else [*entries, "…"]
    fields: dict[str, Any] = {}
    for _, (key, each) in zip(range(MOST), value.items(), strict=False):
        name = told(key)
        fields[clean(name, redact)] = HIDDEN if names_a_secret(name) and each else plain(each, redact, path)
    return fields if len(value) <= MOST else {**fields, "…": len(value) - MOST}


def _cut(text: str, redact: Redact) -> str:
    """Looks at no more than it may show, and an edge: half a secret, which looks like none, is not shown."""
    seen = redact(text[: LONGEST + EDGE])
    end = min(LONGEST, len(seen) - EDGE) if len(text) > LONGEST + EDGE else LONGEST
    return f"{seen[: max(end, 0)]}… (cut; it has {len(text)} characters)"
