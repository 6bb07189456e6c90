"""Templates and filters over the JSON body of a webhook. Pure; never raises."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sophon.lazy_pattern import lazy_pattern

MAX_TEXT_CHARACTERS = 20_000
"""Maximum length of what is shown of one body."""
CUT_NOTE = "\n[cut: there is more]"
MAX_INDENTED_DEPTH = 8
"""Depth to which JSON is shown with a line per item."""

HEADER_PREFIX = "header:"

_PLACEHOLDER = lazy_pattern(r"\{\{\s*([^{}\s]{1,200})\s*\}\}")


def find_value(payload: object, path: str) -> object:
    """Return the value at a path such as `commits.0.author.name`; None if there is none."""
    found = payload
    for part in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(part)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - any JSON
        elif isinstance(found, Sequence) and not isinstance(found, str) and part.isascii() and part.isdigit():
            found = found[int(part)] if len(part) < 7 and int(part) < len(found) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - as above
        else:
            return None
    return found  # pyright: ignore[reportUnknownVariableType] - as above


def render_template(template: str, payload: object) -> str:
    """Return the template with its placeholders replaced; the whole payload as JSON for an empty template.

    It is cut to `MAX_TEXT_CHARACTERS` with a note.
    """
    if template:
        return _cut([_PLACEHOLDER.sub(lambda found: _to_text(find_value(payload, found[1])), template)])
    return _cut(_indent_json(payload))


def _cut(pieces: Iterable[str]) -> str:
    """Return a text that is cut. No piece after the cut is made: 1 MiB of lists in lists is 250 MiB with line breaks,
    which take seconds.
    """
    shown, characters = list[str](), 0
    for piece in pieces:
        shown.append(piece)
        characters += len(piece)
        if characters > MAX_TEXT_CHARACTERS:
            return "".join(shown)[:MAX_TEXT_CHARACTERS] + CUT_NOTE
    return "".join(shown)


def passes_filters(filters: Mapping[str, Sequence[str]], headers: Mapping[str, str], payload: object) -> bool:
    """Return whether each filter accepts its value; a value that is missing is never accepted."""
    return all(
        _filtered_value(path, headers, payload) in {each.casefold() for each in accepted}
        for path, accepted in filters.items()
    )


def _filtered_value(path: str, headers: Mapping[str, str], payload: object) -> str | None:
    if path.startswith(HEADER_PREFIX):
        found: object = headers.get(path.removeprefix(HEADER_PREFIX))
    else:
        found = find_value(payload, path)
    return None if found is None else _to_text(found).casefold()


def _to_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _indent_json(value: object, depth: int = 0) -> Iterator[str]:
    """Yield JSON with a line per item to `MAX_INDENTED_DEPTH`, and what is deeper in one line."""
    if depth < MAX_INDENTED_DEPTH and value and isinstance(value, Mapping | list):
        opening, closing = "{}" if isinstance(value, Mapping) else "[]"
        before = opening
        for each in value:  # pyright: ignore[reportUnknownVariableType] - any JSON
            yield f"{before}\n{' ' * (depth + 1)}"
            if isinstance(value, Mapping):
                yield f"{json.dumps(each, ensure_ascii=False)}: "
                each = value[each]  # pyright: ignore[reportUnknownVariableType] - as above
            yield from _indent_json(each, depth + 1)  # pyright: ignore[reportUnknownArgumentType] - as above
            before = ","
        yield f"\n{' ' * depth}{closing}"
    else:
        yield json.dumps(value, ensure_ascii=False)
