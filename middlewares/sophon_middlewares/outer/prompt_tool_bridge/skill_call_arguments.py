"""The text of a `<skill>` call, `name(key="value", count=3)`: parsed without evaluating anything, and rendered.

Source: WASP, call parsing. The published page promises Python literals where the published code keeps every value as
text; here literals have their type, unless the tool's parameter is a string, and a bare word is text.
"""

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast

from sophon._python.lazy_pattern import lazy_pattern
from sophon.messages import ToolCall, to_canonical_json
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_json import UNKNOWN_NAME, find_repeated
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import SKILL_TAGS

MAX_NESTING = 64
"""Nested brackets in a value; more could exhaust the stack of Python's parser."""

ParameterTypes = Mapping[str, Any]
"""The JSON Schema type of each parameter of a tool, by name."""

_DOUBLE, _SINGLE = r'"(?:[^"\\]|\\.)*"', r"'(?:[^'\\]|\\.)*'"
_NAME = lazy_pattern(r"\s*([\w.:-]{1,128})")
_CALL = lazy_pattern(r"\s*([\w.:-]{1,128})\s*\((.*)\)\s*\Z", re.DOTALL)
_KEY = lazy_pattern(r"([^\W\d][\w.-]{0,127})\s*=\s*")
_SEPARATOR = lazy_pattern(r"[\s,]*")
_TRIPLE = lazy_pattern(r'"""(.*?)"""' + r"|'''(.*?)'''", re.DOTALL)
_QUOTED = lazy_pattern(rf"{_DOUBLE}|{_SINGLE}", re.DOTALL)
_BARE = lazy_pattern(r"""[^\s,()\[\]{}"'=]+""")
_IN_BRACKETS = lazy_pattern(rf"[^\[\](){{}}\"']+|[\[\](){{}}]|{_DOUBLE}|{_SINGLE}", re.DOTALL)
_NUMBER = lazy_pattern(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\Z")
_ESCAPE = lazy_pattern(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_WORDS: Mapping[str, bool | None] = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}


def parse_skill_call(text: str, types: Mapping[str, ParameterTypes]) -> ToolCall:
    """Parse `name(arguments)`; `types` has the parameter types of the offered tools by name. Never raises, never
    guesses: an invalid call is `malformed`. The name is in lower case unless a tool is called exactly so.
    """
    found = _CALL.match(text)
    if found is None:
        begin = _NAME.match(text)
        return ToolCall("", begin[1] if begin else UNKNOWN_NAME, {}, "it is not written as name(key=value, ...)")
    name = found[1] if found[1] in types else found[1].lower()
    try:
        return ToolCall("", name, parse_skill_arguments(found[2], types.get(name, {})))
    except SkillArgumentError as problem:
        return ToolCall("", name, {}, str(problem))


class SkillArgumentError(Exception):
    """Why a text is no list of arguments."""


def parse_skill_arguments(text: str, types: ParameterTypes) -> dict[str, Any]:
    """Parse `key=value` pairs separated by commas or blanks; raise SkillArgumentError for anything else."""
    arguments: dict[str, Any] = {}
    position = _skip(text, 0)
    while position < len(text):
        key = _KEY.match(text, position)
        if key is None:
            raise SkillArgumentError(f'{text[position : position + 40]!r} is no argument: write key="value"')
        if key[1] in arguments:
            raise SkillArgumentError(f"the argument {key[1]!r} is there twice")
        arguments[key[1]], end = _parse_value(text, key.end(), types.get(key[1]))
        position = _skip(text, end)
        if position == end < len(text):
            raise SkillArgumentError(f"{text[end : end + 40]!r} follows the argument {key[1]!r} without a comma")
    return arguments


def render_skill_call(call: ToolCall) -> str:
    """Return `<skill>name(arguments)</skill>`; parsing restores name and arguments."""
    arguments = ", ".join(f"{key}={_render_value(value)}" for key, value in call.arguments.items())
    return f"<skill>{call.name}({arguments})</skill>"


def _render_value(value: Any) -> str:
    return SKILL_TAGS.escape_in_json(to_canonical_json(value).decode())


def _skip(text: str, position: int) -> int:
    found = _SEPARATOR.match(text, position)
    return found.end() if found else position


def _parse_value(text: str, position: int, kind: Any) -> tuple[Any, int]:
    if triple := _TRIPLE.match(text, position):
        return triple[1] if triple[1] is not None else triple[2], triple.end()
    if quoted := _QUOTED.match(text, position):
        value = _ESCAPE.sub(_unescape, quoted[0][1:-1])
        return (value if kind in (None, "string") else _read_as(value, kind)), quoted.end()
    if text[position : position + 1] in ("[", "{", "("):
        end = _find_end_of_brackets(text, position)
        return _parse_brackets(text[position:end]), end
    if bare := _BARE.match(text, position):
        return (bare[0] if kind == "string" else _parse_word(bare[0])), bare.end()
    raise SkillArgumentError(f"{text[position : position + 40]!r} is no value")


def _unescape(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return _ESCAPED.get(escape[2], escape[0])


def _read_as(text: str, kind: Any) -> Any:
    """Return a quoted number or truth value as what the parameter wants, if it is one; else the text."""
    if kind not in ("integer", "number", "boolean"):
        return text
    value = _parse_word(text.strip())
    return text if value is None else value


def _parse_word(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    if not _NUMBER.match(word):
        return word
    try:
        number = int(word) if word.lstrip("+-").isdigit() else float(word)
    except ValueError as error:  # more digits than Python converts
        raise SkillArgumentError(str(error)) from None
    if isinstance(number, float) and math.isinf(number):
        raise SkillArgumentError("a number is too large")
    return number


def _find_end_of_brackets(text: str, position: int) -> int:
    depth = 0
    while position < len(text):
        piece = _IN_BRACKETS.match(text, position)
        if piece is None:
            raise SkillArgumentError("a string in a list or an object is not closed")
        position = piece.end()
        if piece[0] in ("[", "(", "{"):
            depth += 1
            if depth > MAX_NESTING:
                raise SkillArgumentError(f"a value is nested more than {MAX_NESTING} deep")
        elif piece[0] in ("]", ")", "}"):
            depth -= 1
            if not depth:
                return position
    raise SkillArgumentError("a list or an object is not closed")


def _parse_brackets(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_build_object, parse_constant=_reject_constant, strict=False)
    except (ValueError, RecursionError):
        pass
    try:
        tree = ast.parse(text.lstrip(" \t"), mode="eval")
        value: object = ast.literal_eval(tree)  # literals only: names, calls and operators raise
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict) and len(ast.literal_eval(node)) < len(node.keys):
                raise SkillArgumentError(f"a key is there twice in {text[:40]!r}")
        if isinstance(value, set):
            value = list(cast("set[object]", value))
        # Tuples become lists, and keys texts, of which two may then be the same.
        return json.loads(json.dumps(value, allow_nan=False), object_pairs_hook=_build_object)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise SkillArgumentError(f"{text[:40]!r} is neither JSON nor a Python literal") from None


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of the pairs; which of two values for one key is meant would be a guess."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise SkillArgumentError(f"the key {find_repeated(key for key, _ in pairs)[:40]!r} is there twice")
    return found


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def read_parameter_types(parameters: Mapping[str, Any]) -> ParameterTypes:
    """Return the type of each property of a JSON Schema; None where it names none, or several."""
    properties = cast("Mapping[str, Mapping[str, Any]]", parameters.get("properties") or {})
    return {key: schema.get("type") for key, schema in properties.items()}
