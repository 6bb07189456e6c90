"""The schema of a tool's arguments, read once from a typed function or given as JSON Schema, and checked by it."""

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from sophon.errors import CompositionError, InvalidArguments

CONTEXT_PARAMETER = "ctx"
FIELD_PREFIX = "arg_"
"""Keeps a parameter such as `copy` or `model_config` from meeting an attribute of pydantic's own."""

_ARGS_SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\s*$")
_ARG_LINE = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class ArgumentSchema:
    """JSON Schema for the model, and a check for what the model then sends."""

    json_schema: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Gives the values to call the function with; raises pydantic's ValidationError or InvalidArguments."""
    wants_context: bool = False
    names: frozenset[str] = field(default_factory=frozenset[str])

    def validate(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The function's keyword arguments; raises InvalidArguments with a line per fault."""
        try:
            return self.check(arguments)
        except ValidationError as error:
            raise InvalidArguments(tool, [_sentence(fault) for fault in error.errors(include_url=False)]) from None


def argument_schema(function: Callable[..., Any], tool: str) -> tuple[ArgumentSchema, str]:
    """Read a function's parameters and docstring: (schema, description without the `Args:` section).

    Raises CompositionError for a parameter that no model could fill: positional-only, `*args`, no annotation, a type
    or a default that JSON does not know.
    """
    text, help_by_name = split_docstring(inspect.getdoc(function) or "")
    hints = _hints(function, tool)
    fields: dict[str, Any] = {}
    wants_context = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise CompositionError(f"tool {tool!r}: parameter {name!r} cannot be given by name")
        if name == CONTEXT_PARAMETER:
            wants_context = True
            continue
        if name not in hints:
            raise CompositionError(f"tool {tool!r}: parameter {name!r} has no annotation")
        default = ... if parameter.default is parameter.empty else parameter.default
        about = Field(default, alias=name, description=help_by_name.get(name))
        fields[FIELD_PREFIX + name] = (hints[name], about)
    model, json_schema = _model(tool, fields)
    names = {FIELD_PREFIX + name: name for name in (f.removeprefix(FIELD_PREFIX) for f in fields)}

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        checked = model.__pydantic_validator__.validate_python(arguments)
        return {name: checked.__dict__[field] for field, name in names.items()}

    return ArgumentSchema(json_schema, check, wants_context, frozenset(names.values())), text


def split_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """A docstring's text before its `Args:` section, and the section as name -> description."""
    kept: list[str] = []
    about: dict[str, str] = {}
    inside, name = False, ""
    for line in docstring.splitlines():
        if _ARGS_SECTION.match(line):
            inside = True
        elif inside and line and not line[0].isspace():
            inside = False
            kept.append(line)
        elif not inside:
            kept.append(line)
        elif match := _ARG_LINE.match(line):
            name, about[match[1]] = match[1], match[2]
        elif name and line.strip():
            about[name] = f"{about[name]} {line.strip()}".strip()
    return "\n".join(kept).strip(), about


def _hints(function: Callable[..., Any], tool: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise CompositionError(f"tool {tool!r}: its annotations cannot be read: {error}") from error


def _model(tool: str, fields: dict[str, Any]) -> tuple[type[BaseModel], dict[str, Any]]:
    try:
        model = create_model(f"{tool}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
        return model, _plain_schema(model)
    except (PydanticUserError, PydanticInvalidForJsonSchema) as error:
        reason = error.message.partition("\n")[0].partition(". ")[0]
        raise CompositionError(f"tool {tool!r}: a parameter has no JSON Schema: {reason}") from error


def _plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True, schema_generator=_StrictDefaults)
    _drop_titles(schema)
    schema.setdefault("properties", {})
    return schema


class _StrictDefaults(GenerateJsonSchema):
    """A default that JSON cannot hold is the author's mistake, not a warning."""

    def encode_default(self, dft: Any) -> Any:
        try:
            return super().encode_default(dft)
        except PydanticSerializationError as error:
            raise PydanticInvalidForJsonSchema(f"the default {dft!r} is no JSON: {error}") from error


def _drop_titles(node: Any) -> None:
    """Pydantic titles everything; a model pays for each of those tokens and learns nothing from them."""
    if isinstance(node, dict):
        entries = typing.cast(dict[str, Any], node)
        if isinstance(entries.get("title"), str):
            del entries["title"]
        for key, value in entries.items():
            if key == "properties":
                for schema in value.values():
                    _drop_titles(schema)
            else:
                _drop_titles(value)
    elif isinstance(node, list):
        for item in typing.cast(Iterable[Any], node):
            _drop_titles(item)


def _sentence(fault: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in fault["loc"]) or "arguments"
    return f"{where}: {fault['msg'][0].lower()}{fault['msg'][1:]}"
