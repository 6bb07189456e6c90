"""Markdown table of all settings for docs/settings.md, generated from the JSON Schema."""

import json
from collections.abc import Iterator, Mapping
from typing import Literal

from sophon.settings.json_schema import JsonSchemaObject, resolve_definition, settings_schema
from sophon.settings.sources.json_files import ROOT_KEY

_FORMATS = {
    "time-span": "duration",
    "uri": "URL",
    "import-path": "import path",
    "cidr": "network",
    "secret": "secret",
    "identity": "text",
    "path": "path",
}
_TYPES = {
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "string": "text",
    "null": "`null`",
}
_BOUNDS = {"minimum": "from {:g}", "exclusiveMinimum": "above {:g}", "maximum": "to {:g}"}


def render_settings_table() -> str:
    """Return a Markdown table with one row per setting: path below `Sophon`, values, default and meaning.

    `[]` in a path means each item of a list, `*` each key of a mapping with free keys. Settings that stand in several
    places have rows in the first one.
    """
    schema = settings_schema()
    rows = _rows(schema["properties"][ROOT_KEY], schema["$defs"], "", {})
    return "\n".join(["| Setting | Values | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _rows(
    section: JsonSchemaObject, definitions: Mapping[str, JsonSchemaObject], path: str, shown: dict[int, str]
) -> Iterator[str]:
    """Yield the rows of a section; `shown` are the paths of those that have rows, by the identity of the definition."""
    required = section.get("required", ())
    for key, field in section["properties"].items():
        here = f"{path}{key}"
        below = list(_nested_sections(field, definitions))
        if not below or below[0][0] or field.get("default", ...) is None:
            default = "required" if key in required else f"`{json.dumps(field['default'])}`"
            yield f"| `{here}` | {_describe_values(field)} | {default} | {_escape_cell(field['description'])} |"
        for mark, inner in below:
            first = shown.setdefault(id(inner), f"{here}{mark}")
            if first == f"{here}{mark}":
                yield from _rows(inner, definitions, f"{here}{mark}.", shown)
            else:
                yield f"| `{here}{mark}.…` | as `{first}.…` | | |"


def _nested_sections(
    field: JsonSchemaObject, definitions: Mapping[str, JsonSchemaObject]
) -> Iterator[tuple[str, JsonSchemaObject]]:
    """Yield (mark, section) of the field: the mark is empty, `[]` for a list, `.*` for free keys."""
    candidates = (
        ("", field),
        ("[]", field.get("items", {})),
        (".*", field.get("additionalProperties", {})),
    )
    for mark, schema in candidates:
        inner = resolve_definition(schema, definitions)
        if inner is not None:
            yield mark, inner


def _describe_values(field: JsonSchemaObject, ending: Literal["", "s"] = "") -> str:
    """Return what values a field takes; with the ending `s` those of the items of a list."""
    if field.get("format") in _FORMATS:
        return f"{_FORMATS[field['format']]}{ending}"
    if "anyOf" in field:
        return _escape_cell(" or ".join(_describe_values(each) for each in field["anyOf"]))
    if "enum" in field:
        return f"{'any of ' if ending else ''}{', '.join(f'`{each}`' for each in field['enum'])}"
    if "prefixItems" in field:
        return "[" + ", ".join(_describe_values(each) for each in field["prefixItems"]) + "]"
    if field.get("type") == "array":
        return f"list of {_describe_values(field['items'], 's')}"
    if "$ref" in field or field.get("type") == "object":
        return f"mapping{ending}"
    bounds = [text.format(field[key]) for key, text in _BOUNDS.items() if key in field]
    return " ".join([f"{_TYPES[field['type']]}{ending}", *bounds])


def _escape_cell(text: str) -> str:
    return text.replace("|", r"\|")
