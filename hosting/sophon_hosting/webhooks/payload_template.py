"""Templates and filters over the JSON body of a webhook. Pure; never raises."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sophon.lazy_pattern import lazy_pattern

MAX_TEXT_CHARACTERS = 20_000
"""Maximum length of what is shown of one body."""
CUT_NOTE = "\n[cut: {left} more characters]"

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
    """Return the template with its placeholders replaced; the whole payload as JSON for an empty template."""
    text = _PLACEHOLDER.sub(lambda found: _to_text(find_value(payload, found[1])), template)
    return cut_text(text if template else json.dumps(payload, ensure_ascii=False, indent=1))


def cut_text(text: str) -> str:
    """Return the text, cut to `MAX_TEXT_CHARACTERS` with a note."""
    left = len(text) - MAX_TEXT_CHARACTERS
    return text if left <= 0 else text[:MAX_TEXT_CHARACTERS] + CUT_NOTE.format(left=left)


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
