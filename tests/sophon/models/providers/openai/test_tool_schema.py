"""Tool schemas in the subset of Gemini: every keyword that is not in it makes the provider reject the request."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.models.providers.openai.tool_schema import FORMATS, KEPT_KEYWORDS, MAX_SCHEMAS, to_openapi_function
from sophon.services import Services
from tests.tables import table

ALLOWED = {*KEPT_KEYWORDS, "type", "enum", "format", "items", "properties", "required", "anyOf"}


def converted(schema: dict[str, Any], **root: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"value": schema}, **root}
    function = to_openapi_function({"name": "tool", "description": "A tool.", "parameters": parameters})
    value: dict[str, Any] = function["parameters"]["properties"]["value"]
    return value


@table(
    ("schema", "expected"),
    [
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMaximum": 9.5}, {"type": "integer", "maximum": 9}),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 0}),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": 0}, {"type": "integer", "minimum": 3}),
        ({"type": ["string", "null"], "maxLength": 5}, {"type": "string", "maxLength": 5, "nullable": True}),
        ({"type": ["integer", "string"]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "description": "d"},
            {"type": "integer", "nullable": True, "description": "d"},
        ),
        (
            {"oneOf": [{"type": "integer"}, {"type": "string"}], "description": "d", "title": "T"},
            {"anyOf": [{"type": "integer", "description": "d"}, {"type": "string", "description": "d"}]},
        ),
        ({"const": "on"}, {"type": "string", "enum": ["on"]}),
        ({"const": 3}, {"type": "integer"}),
        ({"enum": ["a", "b", None]}, {"type": "string", "enum": ["a", "b"], "nullable": True}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"type": "string", "format": "uri"}, {"type": "string"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        (
            {"type": "array", "uniqueItems": True, "items": {"const": "x"}},
            {"type": "array", "items": {"type": "string", "enum": ["x"]}},
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        ),
        ({}, {"type": "string"}),
        ({"type": "null"}, {"type": "string", "nullable": True}),
    ],
)
def test_a_keyword_outside_the_subset_is_expressed_in_it_or_left_out(schema: dict[str, Any], expected: Any) -> None:
    assert converted(schema) == expected


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"type": "object", "properties": {"$ref": {"type": "integer"}, "default": {"type": "string"}}}
    assert converted(schema)["properties"] == schema["properties"]


def test_a_reference_is_replaced_by_its_schema_and_a_recursive_one_by_an_object() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}}}
    found = converted({"$ref": "#/$defs/Node", "description": "d"}, **{"$defs": {"Node": node}})
    assert found == {
        "type": "object",
        "description": "d",
        "properties": {"next": {"type": "object"}, "n": {"type": "integer"}},
    }


def test_all_of_is_one_object_with_the_properties_of_each() -> None:
    defs = {"A": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    found = converted({"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {"const": "x"}}}]}, **{"$defs": defs})
    assert found == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string", "enum": ["x"]}},
        "required": ["a"],
    }


@table(
    "schema",
    [
        {"$ref": "#/$defs/Self"},
        {"allOf": [{"$ref": "#/$defs/Self"}]},
        {"anyOf": [{"$ref": "#/$defs/Self"}, {"$ref": "#/$defs/Self"}]},
        {"$ref": "#/$defs/nothing"},
        {"$ref": "elsewhere"},
    ],
)
def test_a_reference_to_itself_or_to_nothing_ends(schema: dict[str, Any]) -> None:
    assert converted(schema, **{"$defs": {"Self": {"$ref": "#/$defs/Self", "allOf": [{"$ref": "#/$defs/Self"}]}}})


def test_references_that_multiply_are_cut_off() -> None:
    defs = {f"D{n}": {"properties": {side: {"$ref": f"#/$defs/D{n + 1}"} for side in "lr"}} for n in range(30)}
    found = converted({"$ref": "#/$defs/D0"}, **{"$defs": defs})
    assert str(found).count("'type'") <= 2 * MAX_SCHEMAS


def test_a_tool_without_parameters_is_sent_without_any() -> None:
    assert to_openapi_function({"name": "now", "parameters": {"type": "object", "properties": {}}}) == {"name": "now"}


def assert_is_in_subset(schema: Any) -> None:
    assert schema.keys() <= ALLOWED
    if "anyOf" in schema:
        assert schema.keys() == {"anyOf"}
        for each in schema["anyOf"]:
            assert_is_in_subset(each)
        return
    assert schema["type"] in {"array", "boolean", "integer", "number", "object", "string"}
    assert all(isinstance(each, str) for each in schema.get("enum", ()))
    assert "format" not in schema or schema["format"] in FORMATS[schema["type"]]
    assert ("items" in schema) == (schema["type"] == "array")
    assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()
    for each in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        assert_is_in_subset(each)


@table("tool", Services().registry)
def test_every_built_in_tool_is_in_the_subset(tool: Any) -> None:
    assert_is_in_subset(to_openapi_function(tool.definition).get("parameters", {"type": "object"}))


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "null", "string", "uri", "#/a"])
KEYWORDS = "type enum const anyOf oneOf allOf $ref $defs items properties required format exclusiveMinimum not nullable"
keywords = st.sampled_from(KEYWORDS.split())
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=3))


@given(st.dictionaries(keywords, values, max_size=5))
def test_nothing_that_a_server_sends_as_a_schema_leaves_the_subset(schema: dict[str, Any]) -> None:
    assert_is_in_subset(converted(schema))
