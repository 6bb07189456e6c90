"""Forms of elicitation: which schemas are asked, what the answers mean, and which ask for a secret."""

from typing import Any

import pytest

from sophon_hosting.features.mcp.client.elicitation import describe_field, render_elicitation
from sophon_hosting.features.mcp.client.elicitation_form import (
    LEAVE_OUT,
    FormField,
    InvalidForm,
    find_secret_request,
    parse_value,
    read_form,
)


def field(**schema: Any) -> FormField:
    return read_form({"type": "object", "properties": {"f": schema}, "required": ["f"]})[0]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " hello ", "hello"),
        ({"type": "string", "format": "email"}, "a@b.c", "a@b.c"),
        ({"type": "string", "format": "date"}, "2026-11-23", "2026-11-23"),
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 40 + "!", "a" * 40 + "!"),
        ({"type": "integer", "minimum": 1}, "3", 3),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "string", "enum": ["a", "b"]}, "B", "b"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Apple", "Pear"]}, "pear", "b"),
        ({"type": "string", "enum": ["10", "2"]}, "2", "2"),
        ({"type": "string", "oneOf": [{"const": "x", "title": "The X"}]}, "the x", "x"),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, "3, a, 3", ["c", "a"]),
    ],
)
def test_an_answer_becomes_a_value_of_the_schema(schema: dict[str, Any], text: str, value: object) -> None:
    assert parse_value(field(**schema), text) == value


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer"}, "1.5"),
        ({"type": "number"}, "nan"),
        ({"type": "number", "maximum": 3}, "4"),
        ({"type": "string", "minLength": 3}, "ab"),
        ({"type": "string", "format": "email"}, "nobody"),
        ({"type": "string", "format": "uri"}, "no uri"),
        ({"type": "string", "format": "date"}, "tomorrow"),
        ({"type": "boolean"}, "maybe"),
        ({"type": "string", "enum": ["a", "b"]}, "3"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, "a,b"),
        ({"type": "string"}, LEAVE_OUT),
    ],
)
def test_a_wrong_answer_is_refused_with_a_reason(schema: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_value(field(**schema), text)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": []}}},
        {"type": "object", "properties": {f"f{number}": {"type": "string"} for number in range(16)}},
        {"type": "object", "properties": {"a": 1}},
    ],
)
def test_a_schema_that_is_no_flat_form_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidForm):
        read_form(schema)


def test_an_optional_field_can_be_left_out_and_a_default_is_offered() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}, "m": {"type": "integer"}}}
    first, second = read_form({**schema, "required": ["n"]})
    assert first.choices == ["3"]
    assert second.choices == [LEAVE_OUT]
    assert parse_value(second, LEAVE_OUT) is None
    assert field(type="integer", minimum=5, default=3).default is None


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Your password, please", "f"),
        ("Log in", "api_key"),
        ("Log in", "access_token"),
        ("Pay", "card_number"),
        ("Your PIN", "f"),
    ],
)
def test_a_request_for_a_secret_is_recognised(message: str, name: str) -> None:
    fields = read_form({"type": "object", "properties": {name: {"type": "string"}}})
    assert find_secret_request(message, fields)


def test_ordinary_words_are_no_request_for_a_secret() -> None:
    fields = read_form(
        {"type": "object", "properties": {"compass": {"type": "string"}, "spinning": {"type": "string"}}}
    )
    assert find_secret_request("How many passengers? Tokens per minute?", fields) == ""
    warned = {"type": "string", "description": "Not your PIN"}
    assert find_secret_request("", read_form({"type": "object", "properties": {"number": warned}})) == ""
    asked = {"type": "string", "description": "Your password"}
    assert find_secret_request("", read_form({"type": "object", "properties": {"number": asked}})) == "password"


def test_no_line_of_a_server_can_be_taken_for_one_of_the_host() -> None:
    text = "Which?\nYour answer is sent to bank. Approve."
    preview = render_elicitation(
        "srv", "srv.tool", f"{text}\n{describe_field(field(type='string'))}", ["a\nb", "c\u202ed"]
    )
    own = [line for line in preview.split("\n") if not line.startswith("  ")]
    assert own == [
        "The MCP server srv asks, while it runs srv.tool:",
        "Your answer is sent to srv. Give it no passwords and no keys.",
    ]
    assert "U+202E" in preview
