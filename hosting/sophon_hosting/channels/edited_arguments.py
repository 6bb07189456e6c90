"""Arguments of a call as a person edits them in a chat: which there are, and what a text means. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass

MAX_VALUE_CHARACTERS = 12_000
"""Longest text that is read as a value."""


@dataclass(frozen=True, slots=True)
class ChosenField:
    """The person has named the argument to change."""

    name: str


@dataclass(frozen=True, slots=True)
class NewArguments:
    """The complete arguments with the change."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnreadableEdit:
    """The text is no edit; `reason` is one line for the person."""

    reason: str


EditInput: TypeAlias = ChosenField | NewArguments | UnreadableEdit


def list_fields(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return the names of the arguments: those that the call has, then the others that the tool takes."""
    properties = cast(Mapping[str, Any], schema.get("properties") or {})
    return list(dict.fromkeys([*arguments, *properties]))


def parse_edit(text: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> EditInput:
    """Parse what a person writes when asked what to change: the number or name of an argument, `name: value`, or all
    arguments as a JSON object.
    """
    text = text.strip()
    if text.startswith("{"):
        return parse_all_arguments(text)
    fields = list_fields(arguments, schema)
    name = _find_field(text, fields)
    if name is not None:
        return ChosenField(name)
    for mark in (":", "="):
        head, found, value = text.partition(mark)
        name = _find_field(head, fields)
        if found and name is not None:
            return parse_value(name, value.strip(), arguments, schema)
    return UnreadableEdit("That is no argument of the call: write the number or the name of one, or all as JSON.")


def parse_all_arguments(text: str) -> NewArguments | UnreadableEdit:
    """Parse the complete arguments from a JSON object."""
    try:
        arguments = _load_json(text)
    except ValueError as error:
        return UnreadableEdit(f'That is not valid JSON ({error}); write all arguments as {{"name": "value"}}.')
    if not isinstance(arguments, Mapping):
        return UnreadableEdit('The arguments must be a JSON object: {"name": "value"}.')
    return NewArguments(cast(Mapping[str, Any], arguments))


def parse_value(
    name: str, text: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]
) -> NewArguments | UnreadableEdit:
    """Parse the new value of one argument: of a text as it is written, of everything else as JSON."""
    if len(text) > MAX_VALUE_CHARACTERS:
        return UnreadableEdit(f"A value has at most {MAX_VALUE_CHARACTERS:,} characters.")
    types = _types_of(name, arguments, schema)
    value: Any = text
    if "string" not in types:
        try:
            value = _load_json(text)
        except ValueError:
            wanted = " or ".join(types) or "a value"
            return UnreadableEdit(f"{name} must be JSON ({wanted}), for example 5, true or [1, 2].")
    return NewArguments({**arguments, name: value})


def _types_of(name: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Sequence[str]:
    """Return the JSON types that an argument may have; by its present value if the schema states none."""
    properties = cast(Mapping[str, Any], schema.get("properties") or {})
    field = cast(Mapping[str, Any], properties.get(name) or {})
    if "enum" in field or "const" in field:
        return ["string"] if any(isinstance(each, str) for each in field.get("enum", [field.get("const")])) else ["any"]
    stated = [field, *cast(Sequence[Mapping[str, Any]], field.get("anyOf") or ())]
    types = [str(kind) for each in stated for kind in _as_list(each.get("type"))]
    return types or (["string"] if isinstance(arguments.get(name, ""), str) else [])


def _as_list(kind: Any) -> Sequence[Any]:
    return cast(Sequence[Any], kind) if isinstance(kind, list) else [kind] if kind else []


def _find_field(text: str, fields: Sequence[str]) -> str | None:
    """Return the argument of that number (from 1) or name."""
    text = text.strip()
    if text in fields:
        return text
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(fields):
        return fields[int(text) - 1]
    return next((each for each in fields if each.casefold() == text.casefold()), None)


def _load_json(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        value = json.loads(text, parse_constant=refuse)
        json.dumps(value, allow_nan=False)  # raises ValueError for a number beyond the floats, which was read as inf
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value
