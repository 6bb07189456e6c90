"""The table of all settings in docs/settings.md, made from the JSON Schema so that it cannot say anything else."""

import json
from collections.abc import Iterator, Mapping

from sophon.settings.pages import Json, definition_of, settings_schema
from sophon.settings.sources import ROOT

_FORMATS = {
    "time-span": "duration",
    "uri": "web address",
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


def settings_table() -> str:
    """A Markdown table with a row for every setting: its path below `Sophon`, its values, its default, its meaning.

    `[]` in a path stands for each item of a list, `*` for each key of a mapping with free keys.
    """
    schema = settings_schema()
    rows = _rows(schema["properties"][ROOT], schema["$defs"], "")
    return "\n".join(["| Setting | Values | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _rows(section: Json, definitions: Mapping[str, Json], path: str) -> Iterator[str]:
    needed = section.get("required", ())
    for key, field in section["properties"].items():
        here = f"{path}{key}"
        below = list(_below(field, definitions))
        if not below or below[0][0] or field.get("default", ...) is None:
            default = "needed" if key in needed else f"`{json.dumps(field['default'])}`"
            yield f"| `{here}` | {_values(field)} | {default} | {_cell(field['description'])} |"
        for mark, inner in below:
            yield from _rows(inner, definitions, f"{here}{mark}.")


def _below(field: Json, definitions: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """The section a field leads to, and the mark between them: nothing, `[]` for a list, `.*` for free keys."""
    held = (
        ("", field),
        ("[]", field.get("items", {})),
        (".*", field.get("additionalProperties", {})),
    )
    for mark, schema in held:
        inner = definition_of(schema, definitions)
        if inner is not None:
            yield mark, inner


def _values(field: Json) -> str:
    if field.get("format") in _FORMATS:
        return _FORMATS[field["format"]]
    if "anyOf" in field:
        return _cell(" or ".join(_values(each) for each in field["anyOf"]))
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if field.get("type") == "array":
        return f"list of {_values(field['items'])}s"
    if "$ref" in field or field.get("type") == "object":
        return "mapping"
    bounds = [text.format(field[key]) for key, text in _BOUNDS.items() if key in field]
    return " ".join([_TYPES[field["type"]], *bounds])


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
