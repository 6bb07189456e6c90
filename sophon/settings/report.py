"""Error messages for invalid settings, one line each: path, fact, and a suggestion for a misspelled name."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sophon.settings.plain import SettingPath, is_list, is_mapping, kind_of_json
from sophon.settings.section import CONFLICTS, REFUSED, Section
from sophon.settings.shape import alternatives, entry_of, item_of, keys_of, kind_at, section_of

LONGEST_VALUE = 60
"""Maximum number of characters of an invalid value in a message."""

_NAMES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "string_type": "a text",
    "path_type": "a path",
}
_BOUNDS = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
}


def problems_of(root: type[Section], error: ValidationError) -> Iterator[tuple[SettingPath, str]]:
    """Yield (path, sentence) for every error in a ValidationError. A sentence never contains a secret."""
    for detail in error.errors(include_url=False):
        if detail["type"] == CONFLICTS:
            yield from (((*detail["loc"], key), sentence) for key, sentence in detail.get("ctx", {})["found"])
        else:
            yield detail["loc"], _format_sentence(root, detail)


def line(path: SettingPath, sentence: str) -> str:
    """Return one line of the message: `Providers[0].Keys: a list is expected`."""
    return f"{written(path)}: {sentence}"


def written(path: Iterable[str | int]) -> str:
    """Return a path as text such as `Providers[0].Keys`; `Sophon` for the root."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "Sophon"


def near(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` with the most similar name, ignoring case; empty if none is similar."""
    folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]}?" if found else ""


def _format_sentence(root: type[Section], detail: ErrorDetails) -> str:
    problem, path, context = detail["type"], detail["loc"], detail.get("ctx", {})
    if problem == REFUSED:
        return str(context["sentence"])
    if problem == "missing":
        return "is required and missing"
    if problem == "extra_forbidden":
        section = section_of(kind_at(root, path[:-1]))
        return f"unknown setting{near(str(path[-1]), keys_of(section) if section else ())}"
    return _describe_invalid_value(kind_at(root, path), detail, context)


def _describe_invalid_value(field_type: Any, detail: ErrorDetails, context: Mapping[str, Any]) -> str:
    problem, value = detail["type"], detail["input"]
    # A scalar in place of a section or list may be a misplaced secret, so the message must not repeat it.
    if section_of(field_type) or entry_of(field_type):
        return f"a mapping ({{...}}) is expected, not {kind_of_json(value)}"
    if item_of(field_type):
        return f"a list ([...]) is expected, not {kind_of_json(value)}"
    if problem == "literal_error":
        return f"{_shorten(value)} is none of {context['expected']}{near(str(value), _literal_options(field_type))}"
    if problem in _BOUNDS:
        return f"{_shorten(value)} is out of bounds: it must be {_BOUNDS[problem].format(**context)}"
    if problem in _NAMES:
        return f"{_shorten(value)} is not {_NAMES[problem]}"
    if problem == "string_too_short":
        return "is empty"
    return f"{_shorten(value)} is not valid: {detail['msg']}"


def _literal_options(field_type: Any) -> list[str]:
    return [str(option) for each in alternatives(field_type) for option in get_args(each)]


def _shorten(value: object) -> str:
    if is_list(value) or is_mapping(value):
        return kind_of_json(value)
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
