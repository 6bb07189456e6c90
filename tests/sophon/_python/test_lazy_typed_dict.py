"""A stand-in for TypedDict has the schema of the real one, and costs no type check at import."""

from typing import Any, NotRequired

import pytest
from pydantic import TypeAdapter, ValidationError

from sophon._python.lazy_typed_dict import TypedDict


class Part(TypedDict):
    """A part."""

    name: str
    size: int | None


class Whole(TypedDict):
    """Something with parts."""

    parts: list[Part]
    first: NotRequired[Part]


class LargerWhole(Whole):
    """A whole that has a title."""

    title: str


def test_the_json_schema_has_the_fields_and_docstrings_of_nested_classes() -> None:
    schema = TypeAdapter(LargerWhole).json_schema()

    assert schema["title"] == "LargerWhole"
    assert schema["description"] == "A whole that has a title."
    assert list(schema["properties"]) == ["parts", "first", "title"]
    assert schema["required"] == ["parts", "title"]
    assert schema["properties"]["parts"]["items"] == {"$ref": "#/$defs/Part"}
    assert schema["$defs"]["Part"]["description"] == "A part."
    assert schema["$defs"]["Part"]["required"] == ["name", "size"]


def test_a_value_is_validated_field_by_field() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Whole)

    assert adapter.validate_python({"parts": [{"name": "a", "size": None}]})
    with pytest.raises(ValidationError, match=r"parts\.0\.size"):
        adapter.validate_python({"parts": [{"name": "a"}]})


def test_a_value_is_a_plain_dictionary() -> None:
    part: Part = {"name": "a", "size": 1}

    assert type(part) is dict
