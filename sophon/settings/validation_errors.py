"""Error messages for invalid settings, one line each: path, fact, and a suggestion for a misspelled name."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from sophon.settings.types.introspection import (
    find_type_at,
    get_entry_type,
    get_field_types,
    get_item_type,
    get_section_type,
    list_union_members,
)
from sophon.settings.types.json_type_checks import SettingPath, describe_json_type, is_list, is_mapping
from sophon.settings.types.section import CONFLICTS_ERROR_TYPE, VALUE_ERROR_TYPE, SettingsSection

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

MAX_VALUE_CHARACTERS = 60
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
_LENGTHS = {"too_short": "at least {min_length}", "too_long": "at most {max_length}"}


def problems_from_error(root: type[SettingsSection], error: "ValidationError") -> Iterator[tuple[SettingPath, str]]:
    """Yield (path, sentence) for every error in a ValidationError. A sentence never contains a secret."""
    details = error.errors(include_url=False)
    for detail in details:
        if detail["type"] == "too_short" and any(_is_inside(each["loc"], detail["loc"]) for each in details):
            continue  # the list is too short only because its invalid items do not count
        if detail["type"] == CONFLICTS_ERROR_TYPE:
            yield from (((*detail["loc"], key), sentence) for key, sentence in detail.get("ctx", {})["found"])
        else:
            yield detail["loc"], _format_sentence(root, detail)


def _is_inside(path: SettingPath, outer: SettingPath) -> bool:
    return len(path) > len(outer) and path[: len(outer)] == outer


def format_problem(path: SettingPath, sentence: str) -> str:
    """Return one line of the message: `Providers[0].Keys: a list is expected`."""
    return f"{format_path(path)}: {sentence}"


def format_path(path: Iterable[str | int]) -> str:
    """Return a path as text such as `Providers[0].Keys`; `Sophon` for the root."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "Sophon"


def suggest_nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` with the most similar name, ignoring case; empty if none is similar."""
    import difflib  # lazy: for mistakes only

    folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]}?" if found else ""


def _format_sentence(root: type[SettingsSection], detail: "ErrorDetails") -> str:
    problem, path, context = detail["type"], detail["loc"], detail.get("ctx", {})
    if problem == VALUE_ERROR_TYPE:
        return str(context["sentence"])
    if problem == "missing":
        return "is required and missing"
    if problem == "unexpected_keyword_argument":
        if path == ("Sophon",):
            return "unknown setting; leave this level out, it is that of appsettings.json: write what stands below it"
        section = get_section_type(find_type_at(root, path[:-1]))
        return f"unknown setting{suggest_nearest(str(path[-1]), get_field_types(section) if section else ())}"
    return _describe_invalid_value(find_type_at(root, path), detail, context)


def _describe_invalid_value(field_type: Any, detail: "ErrorDetails", context: Mapping[str, Any]) -> str:
    problem, value = detail["type"], detail["input"]
    if problem in ("too_short", "too_long"):
        return f"the list has {context['actual_length']} entries; {_LENGTHS[problem].format(**context)} are expected"
    # A scalar in place of a section or list may be a misplaced secret, so the message must not repeat it.
    if get_section_type(field_type) or get_entry_type(field_type):
        return f"a mapping ({{...}}) is expected, not {describe_json_type(value)}"
    if get_item_type(field_type):
        return f"a list ([...]) is expected, not {describe_json_type(value)}"
    if problem == "literal_error":
        suggestion = suggest_nearest(str(value), _literal_options(field_type))
        return f"{_shorten(value)} is none of {context['expected']}{suggestion}"
    if problem in _BOUNDS:
        return f"{_shorten(value)} is out of bounds: it must be {_BOUNDS[problem].format(**context)}"
    if problem in _NAMES:
        return f"{_shorten(value)} is not {_NAMES[problem]}"
    if problem == "string_too_short":
        return "is empty"
    return f"{_shorten(value)} is not valid: {detail['msg']}"


def _literal_options(field_type: Any) -> list[str]:
    return [str(option) for each in list_union_members(field_type) for option in get_args(each)]


def _shorten(value: object) -> str:
    if is_list(value) or is_mapping(value):
        return describe_json_type(value)
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[: MAX_VALUE_CHARACTERS - 3]}..."
