"""Settings for machines and people to look at: what is in force with secrets hidden, and the JSON Schema."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from sophon.settings.schema import Settings
from sophon.settings.sources import ROOT
from sophon.settings.values import format_duration

Json = dict[str, Any]


def show(settings: Settings) -> Json:
    """What is in force, as it would stand below `Sophon`; a secret is its reference, or `***` if it is plain."""
    return settings.model_dump(mode="json", by_alias=True)


def settings_schema() -> Json:
    """The JSON Schema (draft 2020-12) of a settings file; keys besides `Sophon` are free.

    Every setting carries its description, and its default unless it is needed.
    """
    schema = Settings.model_json_schema(by_alias=True, schema_generator=_Generator)
    definitions: dict[str, Json] = schema.pop("$defs")
    _complete(schema, definitions, show(Settings()))
    for section in (schema, *definitions.values()):
        for field in section.get("properties", {}).values():
            field.pop("title", None)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": "Settings of Sophon",
        "type": "object",
        "properties": {ROOT: schema},
        "$defs": definitions,
    }


def definition_of(field: Json, definitions: Mapping[str, Json]) -> Json | None:
    """The section that a field's schema refers to, null left aside; None for a plain value or a list."""
    found = [each["$ref"] for each in (field, *field.get("anyOf", ())) if "$ref" in each]
    return definitions[found[0].rpartition("/")[2]] if found else None


class _Generator(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        """Durations are written as they are read, not in ISO 8601."""
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def _complete(section: Json, definitions: Mapping[str, Json], defaults: Mapping[str, Any]) -> None:
    """Add what pydantic leaves out: defaults that are made by a factory, descriptions that a definition has too."""
    for key, field in section.get("properties", {}).items():
        inner = definition_of(field, definitions)
        field.setdefault("default", defaults[key])
        if inner is not None and isinstance(defaults[key], Mapping):
            field.setdefault("description", inner["description"])
            _complete(inner, definitions, defaults[key])
