"""JSON of one tool call between its tags: rendering and parsing."""

import json
from collections.abc import Iterable, Mapping
from json import JSONDecodeError
from typing import Any, NoReturn, cast

from sophon._python.lazy_pattern import lazy_pattern
from sophon.messages import ToolCall, to_canonical_json
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TOOL_CALL_TAGS

UNKNOWN_NAME = "unknown"
"""Name of a malformed call whose name could not be parsed."""

IGNORED_FIELDS = frozenset({"id", "type"})
"""Fields that models copy from other formats and that have no meaning here."""

_NAME_FIELD = lazy_pattern(r'"name"\s*:\s*"([^"\\<>\x00-\x1f]{1,64})"')


def render_call(call: ToolCall) -> str:
    """Return a whole block; `parse_call` restores name and arguments from the text between its tags."""
    name = to_canonical_json(call.name).decode()
    return TOOL_CALL_TAGS.escape_in_json(
        f'{{"name": {name}, "arguments": {call.canonical_arguments().decode()}}}'
    ).join(("<tool_call>", "</tool_call>"))


def parse_call(text: str) -> ToolCall:
    """Parse the call in a block; its id is "". Never raises, never guesses: an invalid call is `malformed`.

    Missing, null or empty arguments are none; arguments as a JSON string are parsed. Line breaks inside strings are
    accepted although JSON requires escapes, because they are unambiguous.
    """
    try:
        call = _parse_object(text, "the block")
        return ToolCall("", _parse_name(call), _parse_arguments(call))
    except _ParseError as problem:
        return build_malformed_call(text, str(problem))


def build_malformed_call(text: str, reason: str) -> ToolCall:
    """Return a malformed call under the name that the text appears to have."""
    found = _NAME_FIELD.search(text)
    return ToolCall("", found[1].strip() or UNKNOWN_NAME if found else UNKNOWN_NAME, {}, reason)


class _ParseError(Exception):
    """Why a text is no call; private to this file."""


def _parse_name(call: Mapping[str, Any]) -> str:
    name = call.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _ParseError('it has no "name"')
    return name.strip()


def _parse_arguments(call: Mapping[str, Any]) -> Mapping[str, Any]:
    if "arguments" not in call:
        stray = [key for key in call if key != "name" and key not in IGNORED_FIELDS]
        if stray:
            raise _ParseError(f'it has no "arguments" but {stray[0][:40]!r}: all arguments belong under "arguments"')
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        return _parse_object(arguments, '"arguments"') if arguments.strip() else {}
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise _ParseError('"arguments" is no JSON object')
    return cast("dict[str, Any]", arguments)


def _parse_object(text: str, what: str) -> dict[str, Any]:
    text = text.strip()
    if not text:
        raise _ParseError(f"{what} is empty")
    try:
        value = _DECODER.decode(text)
    except JSONDecodeError as error:
        raise _ParseError(f"{what} is not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except ValueError as error:
        raise _ParseError(f"{what} is not valid JSON: {error}") from None
    except RecursionError:
        raise _ParseError(f"{what} is nested too deeply") from None
    if not isinstance(value, dict):
        raise _ParseError(f"{what} is no JSON object")
    return cast("dict[str, Any]", value)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of the pairs; which of two values for one key is meant would be a guess."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _ParseError(f"the key {find_repeated(key for key, _ in pairs)[:40]!r} is there twice")
    return found


def find_repeated(keys: Iterable[str]) -> str:
    """Return the first key that is there twice; "" if there is none."""
    seen = set[str]()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return ""


def _parse_float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object, parse_float=_parse_float, parse_constant=_reject_constant, strict=False
)
