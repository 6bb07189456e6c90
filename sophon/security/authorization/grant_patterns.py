"""Patterns of arguments that an approval in advance covers: from one call, shown to a person, matched with later ones.

A pattern has a rule for each argument of the call, and a later call fits if it has the same arguments and each fits:

    {}                      anything
    {"folder": "notes"}     a file directly in this folder, without links and `..` ("" is the files folder itself)
    {"site": "https://x"}   an address of this site
    {"is": value}           exactly this value

Only built-in tools have arguments that may differ; of another tool a pattern covers the identical call alone, because
nobody knows here what its arguments do. The text for people is made from the pattern, so that it cannot say less.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from sophon._python.lazy_pattern import lazy_pattern

GrantPattern: TypeAlias = Mapping[str, Mapping[str, Any]]

_ANYTHING, _FOLDER, _SITE = "anything", "folder", "site"

_VARIABLE_ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "files.write": {"path": _FOLDER, "content": _ANYTHING},
    "http.send": {"url": _SITE, "body": _ANYTHING},
}
"""Tool -> its arguments that may differ from call to call, and how."""

_PATH = lazy_pattern(r"(?:\./)?((?:[^/\\\0~][^/\\\0]*/)*)[^/\\\0~][^/\\\0]*")
_SITE_OF_URL = lazy_pattern(r"(https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?)(?:[/?#][!-\[\]-~]*)?")
"""An address without user, blanks and backslashes, which two programs would read in two ways."""

MAX_SHOWN_CHARACTERS: Final = 200


def build_grant_pattern(tool: str, arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the pattern that a person is offered with a call; the call fits it."""
    variable = _VARIABLE_ARGUMENTS.get(tool, {})
    return {name: _build_rule(variable.get(name), value) for name, value in arguments.items()}


def fits_grant_pattern(pattern: GrantPattern, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call's arguments fit; a pattern that cannot be read fits nothing."""
    return pattern.keys() == arguments.keys() and all(_fits(pattern[name], arguments[name]) for name in pattern)


def describe_grant_pattern(tool: str, pattern: GrantPattern) -> str:
    """Return the pattern as text for a person: the tool, then a line for each argument, nothing in it invisible."""
    lines = [f"calls of {_show(tool)} with"] if pattern else [f"calls of {_show(tool)} without arguments"]
    return "\n".join([*lines, *(f"  {_show(name)}: {_describe_rule(rule)}" for name, rule in sorted(pattern.items()))])


def _build_rule(kind: str | None, value: Any) -> dict[str, Any]:
    if kind == _ANYTHING:
        return {}
    if kind == _FOLDER and (folder := _find_folder(value)) is not None:
        return {_FOLDER: folder}
    if kind == _SITE and (site := _find_site(value)) is not None:
        return {_SITE: site}
    return {"is": value}


def _fits(rule: Mapping[str, Any], value: Any) -> bool:
    match dict(rule):
        case {**nothing} if not nothing:
            return True
        case {"folder": str(folder), **rest} if not rest:
            return _find_folder(value) == folder
        case {"site": str(site), **rest} if not rest:
            return _find_site(value) == site
        case {"is": exactly, **rest} if not rest:
            return _to_json(value) == _to_json(exactly)
        case _:
            return False


def _describe_rule(rule: Mapping[str, Any]) -> str:
    match dict(rule):
        case {**nothing} if not nothing:
            return "anything"
        case {"folder": ""}:
            return "any file directly in the files folder"
        case {"folder": str(folder)}:
            return f"any file directly in the folder {_show(folder)}"
        case {"site": str(site)}:
            return f"any address of {_show(site)}"
        case {"is": exactly}:
            text = _show(json.dumps(exactly, ensure_ascii=False, sort_keys=True, default=str))
            return text if len(text) <= MAX_SHOWN_CHARACTERS else f"exactly this value, {text[:MAX_SHOWN_CHARACTERS]}…"
        case _:
            return "nothing"


def _find_folder(path: object) -> str | None:
    """Return the folder of a relative path; None for a path that is absolute, not a file, or leaves its folder."""
    found = _PATH.fullmatch(path) if isinstance(path, str) else None
    if found is None or not {".", ".."}.isdisjoint(found[0].removeprefix("./").split("/")):
        return None
    return found[1].removesuffix("/")


def _find_site(url: object) -> str | None:
    found = _SITE_OF_URL.fullmatch(url) if isinstance(url, str) else None
    return None if found is None else found[1]


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, default=repr)


def _show(text: str) -> str:
    """Return a text on one line in which each character that cannot be seen is escaped."""
    return text if text.isprintable() else json.dumps(text, ensure_ascii=True)
