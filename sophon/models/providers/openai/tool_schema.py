"""JSON Schema of a tool's arguments in the subset that a provider accepts; the tool itself checks the whole schema.

Sources: Gemini API reference, Schema; Mistral API reference, Chat completion.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sophon.models.providers.third_party_json import as_list, as_mapping

META_KEYWORDS = frozenset({"$id", "$schema", "additionalProperties", "strict"})
"""Keywords that `without_meta_keywords` drops."""
_COUNTS = ("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties")
KEPT_KEYWORDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(_COUNTS, int),
    **dict.fromkeys(("maximum", "minimum"), (int, float)),
    **dict.fromkeys(("description", "pattern"), str),
    "nullable": bool,
}
"""Keywords that mean the same in OpenAPI 3.0, and are kept if they have a value of this type."""
TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
FORMATS = {
    "string": ("date-time", "enum"),
    "number": ("double", "float"),
    "integer": ("int32", "int64"),
}
"""Formats that Gemini accepts, by type."""
ANY_TYPE: Mapping[str, Any] = {"type": "string"}
"""What stands for a schema that allows everything: Gemini demands a type."""

MAX_SCHEMAS = 2000
MAX_DEPTH = 40
"""Schemas below one tool's, and their depth, that are converted: references can make a short text endless."""

Schema = Mapping[str, Any]


def without_meta_keywords(value: object) -> Any:
    """Return a tool's definition without the keywords that Mistral rejects.

    A property may be called like a keyword: the names below `properties` are kept.
    """
    if isinstance(value, Mapping):
        pairs = cast(Schema, value).items()
        return {
            key: _each_property(each) if key == "properties" else without_meta_keywords(each)
            for key, each in pairs
            if key not in META_KEYWORDS
        }
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [without_meta_keywords(each) for each in cast(Sequence[object], value)]
    return value


def _each_property(properties: object) -> Any:
    if not isinstance(properties, Mapping):
        return properties
    return {name: without_meta_keywords(each) for name, each in cast(Schema, properties).items()}


def to_openapi_function(function: Schema) -> dict[str, Any]:
    """Return a function's definition with its parameters in Gemini's subset of OpenAPI 3.0, none if it takes none.

    Gemini rejects the whole request for one keyword that it does not know. What the subset cannot express is left out
    or allows more; references are replaced by what they refer to, a recursive one by an object.
    """
    parameters = _Converter(function.get("parameters")).convert_root()
    rest = {key: value for key, value in function.items() if key in ("name", "description")}
    return {**rest, "parameters": parameters} if parameters.get("properties") else rest


class _Converter:
    """Converter of one schema; `_open` are the references in which it is."""

    def __init__(self, root: object) -> None:
        self._root = as_mapping(root)
        self._open: list[str] = []
        self._count = self._depth = 0

    def convert_root(self) -> dict[str, Any]:
        return self._convert(self._root)

    def _convert(self, value: object) -> dict[str, Any]:
        if self._count >= MAX_SCHEMAS or self._depth >= MAX_DEPTH:
            return dict(ANY_TYPE)
        self._count += 1
        self._depth += 1
        try:
            return self._convert_schema(as_mapping(value))
        finally:
            self._depth -= 1

    def _convert_schema(self, schema: Schema) -> dict[str, Any]:
        if isinstance(reference := schema.get("$ref"), str):
            return self._convert_reference(reference, schema)
        if parts := _schemas(schema.get("allOf")):
            return self._convert(_merge([_without(schema, "allOf"), *(self._resolve(each, set()) for each in parts)]))
        for name in ("anyOf", "oneOf"):
            if variants := _schemas(schema.get(name)):
                return self._convert_variants(variants, _without(schema, name))
        types = schema.get("type")
        if each_type := [{"type": each} for each in as_list(types)]:
            return self._convert_variants(each_type, _without(schema, "type"), shares_all=True)
        return self._convert_plain(schema)

    def _convert_reference(self, reference: str, schema: Schema) -> dict[str, Any]:
        described = {key: schema[key] for key in ("description", "nullable") if key in schema}
        if reference in self._open:
            return {"type": "object", **described}
        self._open.append(reference)
        try:
            return self._convert({**self._find(reference), **described})
        finally:
            self._open.pop()

    def _find(self, reference: str) -> Schema:
        found: object = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            found = as_mapping(found).get(name.replace("~1", "/").replace("~0", "~"))
        return as_mapping(found)

    def _resolve(self, value: object, seen: set[str]) -> Schema:
        """Return a part of `allOf`, which is merged before it is converted; a reference met again adds nothing."""
        schema = as_mapping(value)
        while isinstance(reference := schema.get("$ref"), str):
            if reference in seen or reference in self._open or len(seen) >= MAX_DEPTH:
                return {}
            seen.add(reference)
            schema = {**self._find(reference), **_without(schema, "$ref")}
        parts = _schemas(schema.get("allOf"))
        return _merge([_without(schema, "allOf"), *(self._resolve(each, seen) for each in parts)]) if parts else schema

    def _convert_variants(
        self, variants: Sequence[Schema], rest: Schema, *, shares_all: bool = False
    ) -> dict[str, Any]:
        """Convert alternatives. One beside null is the schema itself, nullable; `anyOf` must be the only field."""
        kept = [each for each in variants if each.get("type") != "null"]
        nullable = {"nullable": True} if len(kept) < len(variants) or rest.get("nullable") else {}
        if not kept:
            return {**ANY_TYPE, "nullable": True}
        shared = rest if shares_all or len(kept) == 1 else {k: rest[k] for k in ("description",) if k in rest}
        converted = [self._convert({**shared, **each, **nullable}) for each in kept]
        return converted[0] if len(converted) == 1 else {"anyOf": list(_flat(converted))}

    def _convert_plain(self, schema: Schema) -> dict[str, Any]:
        kind = schema.get("type")
        converted = {key: value for key, value in schema.items() if isinstance(value, KEPT_KEYWORDS.get(key, ()))}
        options = [schema["const"]] if "const" in schema else list(as_list(schema.get("enum")))
        if not isinstance(kind, str) or kind not in TYPES:
            kind = _infer_type(schema, options)
        if kind == "null":
            return {**ANY_TYPE, **converted, "nullable": True}
        converted["type"] = kind
        texts = [each for each in options if each is not None]
        if kind == "string" and texts and all(isinstance(each, str) and each for each in texts):
            converted |= {"enum": texts} | ({"nullable": True} if len(texts) < len(options) else {})
        if schema.get("format") in FORMATS.get(kind, ()):
            converted["format"] = schema["format"]
        converted |= _inclusive_bounds(schema, kind)
        if kind == "array":
            converted["items"] = self._convert(schema.get("items"))
        if kind == "object":
            properties = as_mapping(schema.get("properties"))
            converted["properties"] = {str(name): self._convert(each) for name, each in properties.items()}
            if required := [
                each for each in as_list(schema.get("required")) if isinstance(each, str) and each in properties
            ]:
                converted["required"] = required
        return converted


def _inclusive_bounds(schema: Schema, kind: str) -> dict[str, Any]:
    """Return the exclusive bounds as inclusive ones: the next integer, or for other numbers the bound itself."""
    bounds: dict[str, Any] = {}
    for name, exclusive, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        bound = schema.get(exclusive)
        if isinstance(bound, bool) or not isinstance(bound, int | float) or name in schema or not math.isfinite(bound):
            continue
        rounded = math.floor(bound) if sign == 1 else math.ceil(bound)
        bounds[name] = rounded + sign if kind == "integer" else bound
    return bounds


def _infer_type(schema: Schema, options: Sequence[object]) -> str:
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    for types, name in ((bool, "boolean"), (int, "integer"), (int | float, "number")):
        if options and all(isinstance(each, types) for each in options):
            return name
    return "string"


def _merge(parts: Sequence[Schema]) -> dict[str, Any]:
    """Return the schemas of an `allOf` as one: their properties together, what is required by any of them."""
    merged: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    required: dict[str, None] = {}
    for part in parts:
        properties |= as_mapping(part.get("properties"))
        required |= dict.fromkeys(each for each in as_list(part.get("required")) if isinstance(each, str))
        merged |= {key: value for key, value in part.items() if key not in merged}
    if properties:
        merged |= {"type": "object", "properties": properties, "required": list(required)}
    return merged


def _flat(converted: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in converted:
        yield from each.get("anyOf", (each,))


def _schemas(value: object) -> list[Schema]:
    return [as_mapping(each) for each in as_list(value)]


def _without(schema: Schema, name: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != name}
