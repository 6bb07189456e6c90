"""One tool call as text between its tags: written for a model to see, read when a model has written it."""

import json
import re
from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any, NoReturn, cast

from sophon.messages import ToolCall, canonical_json
from sophon_middlewares.outer.bridge.tool_tags import defanged_json

UNKNOWN = "unknown"
"""The name of a malformed call of which not even the name could be read."""

IGNORED_FIELDS = frozenset({"id", "type"})
"""What models copy from other dialects and what says nothing here."""

_NAMED = re.compile(r'"name"\s*:\s*"([^"\\<>\x00-\x1f]{1,64})"')


def write_call(call: ToolCall) -> str:
    """A whole block; `read_call` gives back the same name and arguments of what stands between its tags."""
    name = canonical_json(call.name).decode()
    return defanged_json(f'{{"name": {name}, "arguments": {call.canonical().decode()}}}').join(
        ("<tool_call>", "</tool_call>")
    )


def read_call(text: str) -> ToolCall:
    """The call in a block, with the id "". Never raises, never guesses: what is not exactly a call is `malformed`.

    Missing, null or empty arguments are none; arguments as a JSON string are read. Line breaks inside strings are
    accepted, although JSON wants them escaped: they can mean nothing else.
    """
    try:
        call = _object(text, "the block")
        return ToolCall("", _name(call), _arguments(call))
    except _Unreadable as problem:
        return malformed(text, str(problem))


def malformed(text: str, reason: str) -> ToolCall:
    """A call that could not be read, under the name that it seems to have."""
    found = _NAMED.search(text)
    return ToolCall("", found[1].strip() or UNKNOWN if found else UNKNOWN, {}, reason)


class _Unreadable(Exception):
    """Why a text is no call; never leaves this file."""


def _name(call: Mapping[str, Any]) -> str:
    name = call.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _Unreadable('it has no "name"')
    return name.strip()


def _arguments(call: Mapping[str, Any]) -> Mapping[str, Any]:
    if "arguments" not in call:
        stray = [key for key in call if key != "name" and key not in IGNORED_FIELDS]
        if stray:
            raise _Unreadable(f'it has no "arguments" but {stray[0][:40]!r}: all arguments belong under "arguments"')
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        return _object(arguments, '"arguments"') if arguments.strip() else {}
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise _Unreadable('"arguments" is no JSON object')
    return cast("dict[str, Any]", arguments)


def _object(text: str, what: str) -> dict[str, Any]:
    text = text.strip()
    if not text:
        raise _Unreadable(f"{what} is empty")
    try:
        value = _DECODER.decode(text)
    except JSONDecodeError as error:
        raise _Unreadable(f"{what} is not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except ValueError as error:
        raise _Unreadable(f"{what} is not valid JSON: {error}") from None
    except RecursionError:
        raise _Unreadable(f"{what} is nested too deeply") from None
    if not isinstance(value, dict):
        raise _Unreadable(f"{what} is no JSON object")
    return cast("dict[str, Any]", value)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant, strict=False)
