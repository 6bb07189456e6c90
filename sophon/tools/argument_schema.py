"""Argument schema of a tool: JSON Schema and validation, derived from a typed function or given directly."""

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, SchemaValidator

from sophon.errors import CompositionError, InvalidArguments
from sophon.lazy_dataclass import dataclass

CONTEXT_PARAMETER = "ctx"
FIELD_PREFIX = "arg_"
"""Prefix of model fields, so that a parameter such as `copy` or `model_config` cannot collide with pydantic's own."""

_ARGS_SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\s*$")
_ARG_LINE = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class ArgumentSchema:
    """JSON Schema that is sent to the model, and validation of the arguments that the model returns."""

    json_schema: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Returns the validated keyword arguments; raises pydantic's ValidationError or InvalidArguments."""
    wants_context: bool = False
    names: frozenset[str] = field(default_factory=frozenset[str])

    def validate(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the function's keyword arguments; raises InvalidArguments with one line per error."""
        try:
            return self.check(arguments)
        except ValidationError as error:
            raise InvalidArguments(tool, [_format_error(fault) for fault in error.errors(include_url=False)]) from None


def schema_from_function(function: Callable[..., Any], tool: str) -> tuple[ArgumentSchema, str]:
    """Build (schema, description without the `Args:` section) from a function's parameters and docstring.

    Raises CompositionError for a parameter that a model cannot fill: positional-only, `*args`, no annotation, a type
    or a default that JSON cannot represent.
    """
    text, help_by_name = parse_docstring(inspect.getdoc(function) or "")
    hints = _read_type_hints(function, tool)
    fields: dict[str, Any] = {}
    wants_context = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise CompositionError(f"tool {tool!r}: parameter {name!r} cannot be passed by keyword")
        if name == CONTEXT_PARAMETER:
            wants_context = True
            continue
        if name not in hints:
            raise CompositionError(f"tool {tool!r}: parameter {name!r} has no annotation")
        default = ... if parameter.default is parameter.empty else parameter.default
        about = Field(default, alias=name, description=help_by_name.get(name))
        fields[FIELD_PREFIX + name] = (hints[name], about)
    model, json_schema = _build_model(tool, fields)
    validate = _build_validator(model).validate_python

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = validate(arguments)[0]  # behind it: extra values and the fields that were set
        return values

    names = frozenset(name.removeprefix(FIELD_PREFIX) for name in fields)
    return ArgumentSchema(json_schema, check, wants_context, names), text


def parse_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the text without its `Args:` section, and the section as name -> description."""
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


def _read_type_hints(function: Callable[..., Any], tool: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise CompositionError(f"tool {tool!r}: its annotations cannot be read: {error}") from error


def _build_model(tool: str, fields: dict[str, Any]) -> tuple[type[BaseModel], dict[str, Any]]:
    try:
        model = create_model(f"{tool}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
        return model, _build_json_schema(model)
    except (PydanticUserError, PydanticInvalidForJsonSchema) as error:
        reason = error.message.partition("\n")[0].partition(". ")[0]
        raise CompositionError(f"tool {tool!r}: a parameter has no JSON Schema: {reason}") from error


def _build_validator(model: type[BaseModel]) -> SchemaValidator:
    """Return a validator of the model's fields under the names of the parameters, which makes a dict.

    An instance of the model, whose attributes every call would copy to a dict, costs three times as much.
    """
    whole: Any = model.__pydantic_core_schema__
    in_definitions = whole["type"] == "definitions"
    built: Any = whole["schema"] if in_definitions else whole
    fields = {
        name.removeprefix(FIELD_PREFIX): _without_alias(field) for name, field in built["schema"]["fields"].items()
    }
    renamed = {**built["schema"], "fields": fields}
    schema: Any = {**whole, "schema": renamed} if in_definitions else renamed
    return SchemaValidator(schema, built["config"])


def _without_alias(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in field.items() if not key.endswith("_alias")}


def _build_json_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True, schema_generator=_StrictDefaults)
    _drop_titles(schema)
    schema.setdefault("properties", {})
    return schema


class _StrictDefaults(GenerateJsonSchema):
    """Raises an error, not a warning, for a default that JSON cannot represent."""

    def encode_default(self, dft: Any) -> Any:
        try:
            return super().encode_default(dft)
        except PydanticSerializationError as error:
            raise PydanticInvalidForJsonSchema(f"the default {dft!r} cannot be represented in JSON: {error}") from error


def _drop_titles(node: Any) -> None:
    """Remove the titles that pydantic adds: they cost tokens and contain no information."""
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


def _format_error(fault: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in fault["loc"]) or "arguments"
    return f"{where}: {fault['msg'][0].lower()}{fault['msg'][1:]}"
