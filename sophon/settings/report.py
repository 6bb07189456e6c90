"""What is wrong with settings, one line each: the path, the fact, and the near name where there is one."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sophon.settings.plain import is_list, is_mapping, kind_of_json
from sophon.settings.section import CONFLICTS, REFUSED, Section
from sophon.settings.shape import alternatives, entry_of, item_of, keys_of, kind_at, section_of

LONGEST_VALUE = 60
"""Characters of a wrong value that are repeated."""

Place = tuple[str | int, ...]

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


def problems_of(root: type[Section], error: ValidationError) -> Iterator[tuple[Place, str]]:
    """Yield (path, sentence) for all that pydantic found. Secrets are never in a sentence."""
    for detail in error.errors(include_url=False):
        if detail["type"] == CONFLICTS:
            yield from (((*detail["loc"], key), sentence) for key, sentence in detail.get("ctx", {})["found"])
        else:
            yield detail["loc"], _sentence(root, detail)


def line(place: Place, sentence: str) -> str:
    """One line of a report: `Providers[0].Keys: a list is expected`."""
    return f"{written(place)}: {sentence}"


def written(place: Iterable[str | int]) -> str:
    """A path as a person writes it, `Sophon` for the root."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".") or "Sophon"


def near(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` with the name that is nearest, whatever the case; empty if none is near."""
    folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]}?" if found else ""


def _sentence(root: type[Section], detail: ErrorDetails) -> str:
    problem, place, context = detail["type"], detail["loc"], detail.get("ctx", {})
    if problem == REFUSED:
        return str(context["sentence"])
    if problem == "missing":
        return "is needed and missing"
    if problem == "extra_forbidden":
        section = section_of(kind_at(root, place[:-1]))
        return f"unknown setting{near(str(place[-1]), keys_of(section) if section else ())}"
    return _about_value(kind_at(root, place), detail, context)


def _about_value(kind: Any, detail: ErrorDetails, context: Mapping[str, Any]) -> str:
    problem, value = detail["type"], detail["input"]
    # A value where a group belongs may be a secret that was not put into its list or mapping: it is not repeated.
    if section_of(kind) or entry_of(kind):
        return f"a mapping ({{...}}) is expected, not {kind_of_json(value)}"
    if item_of(kind):
        return f"a list ([...]) is expected, not {kind_of_json(value)}"
    if problem == "literal_error":
        return f"{_short(value)} is none of {context['expected']}{near(str(value), _options(kind))}"
    if problem in _BOUNDS:
        return f"{_short(value)} is out of bounds: it must be {_BOUNDS[problem].format(**context)}"
    if problem in _NAMES:
        return f"{_short(value)} is not {_NAMES[problem]}"
    if problem == "string_too_short":
        return "is empty"
    return f"{_short(value)} is not valid: {detail['msg']}"


def _options(kind: Any) -> list[str]:
    return [str(option) for each in alternatives(kind) for option in get_args(each)]


def _short(value: object) -> str:
    if is_list(value) or is_mapping(value):
        return kind_of_json(value)
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
