"""JSON Schema of a settings file: every setting with its description and default."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from sophon.settings.root import load_settings_type, redact_settings
from sophon.settings.sources.json_files import ROOT_KEY
from sophon.settings.types.field_types import format_duration
from sophon.settings.types.section import get_adapter

JsonSchemaObject = dict[str, Any]


def settings_schema() -> JsonSchemaObject:
    """Return the JSON Schema (draft 2020-12) of a settings file; keys besides `Sophon` are allowed.

    Every setting has its description, and its default unless it is required.
    """
    schema = get_adapter(load_settings_type()).json_schema(by_alias=True, schema_generator=_SettingsSchemaGenerator)
    definitions: dict[str, JsonSchemaObject] = schema.pop("$defs")
    _add_defaults(schema, definitions, redact_settings(load_settings_type().defaults()))
    for section in (schema, *definitions.values()):
        for field in section.get("properties", {}).values():
            field.pop("title", None)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": "Settings of Sophon",
        "type": "object",
        "properties": {ROOT_KEY: schema},
        "$defs": definitions,
    }


def resolve_definition(field: JsonSchemaObject, definitions: Mapping[str, JsonSchemaObject]) -> JsonSchemaObject | None:
    """Return the section schema that a field refers to, ignoring null; None for a plain value or a list."""
    found = [each["$ref"] for each in (field, *field.get("anyOf", ())) if "$ref" in each]
    return definitions[found[0].rpartition("/")[2]] if found else None


class _SettingsSchemaGenerator(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        """Encode durations in the format that settings use, not in ISO 8601."""
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def _add_defaults(
    section: JsonSchemaObject, definitions: Mapping[str, JsonSchemaObject], defaults: Mapping[str, Any]
) -> None:
    """Add what pydantic omits: defaults from factories, and descriptions of fields whose definition has one too."""
    for key, field in section.get("properties", {}).items():
        inner = resolve_definition(field, definitions)
        field.setdefault("default", defaults[key])
        if inner is not None and isinstance(defaults[key], Mapping):
            field.setdefault("description", inner["description"])
            _add_defaults(inner, definitions, defaults[key])
