"""JSON Schema and validation of a tool's arguments, built by pydantic from the annotations of its function."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, SchemaValidator

from sophon.errors import CompositionError

FIELD_PREFIX = "arg_"
"""Prefix of model fields, so that a parameter such as `copy` or `model_config` cannot collide with pydantic's own."""


def build_validation(
    function: Callable[..., Any], tool: str, parameters: Sequence[inspect.Parameter], help_by_name: Mapping[str, str]
) -> tuple[Mapping[str, Any], Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """Return the JSON Schema of the parameters, and a function that returns validated keyword arguments.

    That function raises pydantic's ValidationError. Raises CompositionError for a parameter without annotation, and for
    a type or a default that JSON cannot represent.
    """
    hints = _read_type_hints(function, tool)
    fields: dict[str, Any] = {}
    for parameter in parameters:
        name = parameter.name
        if name not in hints:
            method = ": decorate the bound method, tool(instance.method)" if name == "self" else ""
            raise CompositionError(f"tool {tool!r}: parameter {name!r} has no annotation{method}")
        if getattr(hints[name], "__name__", "") == "Context" and hints[name].__module__.startswith("sophon."):
            raise CompositionError(f"tool {tool!r}: the parameter that receives the turn is called ctx, not {name!r}")
        default = ... if parameter.default is parameter.empty else parameter.default
        # Not `description=None`: it would replace the one of an `Annotated[..., Field(description=...)]`.
        text = help_by_name.get(name)
        field = Field(default, alias=name) if text is None else Field(default, alias=name, description=text)
        fields[FIELD_PREFIX + name] = (hints[name], field)
    model, json_schema = _build_model(tool, fields)
    validate = _build_validator(model).validate_python

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = validate(arguments)[0]  # behind it: extra values and the fields that were set
        return values

    return json_schema, check


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
