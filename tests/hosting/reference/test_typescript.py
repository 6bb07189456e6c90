"""The page's types and its table of operations are those of the declarations; each kind of schema has a type."""

import re
from typing import Any

import pytest

from sophon._python.lazy_typed_dict import TypedDict
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.operation_reply import File
from sophon_hosting.operations.request import Request
from sophon_hosting.operations.table import Registry, Table
from sophon_hosting.reference.typescript import (
    FOLDER,
    declare_type,
    render_files,
    render_operations,
    render_type,
    render_types,
)

FILES = {path.name: (path, content) for path, content in render_files().items()}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_page_is_that_of_the_declarations(name: str) -> None:
    path, content = FILES[name]
    assert path.read_text(encoding="utf-8") == content, "run `make generate`"


def test_the_page_names_paths_of_the_api_in_its_table_of_operations_only() -> None:
    sources = [path for path in FOLDER.parent.rglob("*.ts*") if path.name not in FILES]
    assert len(sources) > 50
    assert [path.name for path in sources if re.search("[\"'`]/(api|v1)/", path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "unknown"),
        ({"type": "integer", "minimum": 1, "default": 3}, "number"),
        ({"$ref": "#/components/schemas/Toy"}, "Toy"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"enum": ["a", 'b"'], "type": "string"}, '"a" | "b\\""'),
        ({"const": True}, "true"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "(string | null)[]"),
        ({"type": "array"}, "unknown[]"),
        ({"type": "object", "additionalProperties": True}, "Record<string, unknown>"),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}, "propertyNames": {"enum": ["a", "b"]}},
            'Partial<Record<"a" | "b", number>>',
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}}, "required": ["a"]},
            "{\n  a: string;\n  b?: null;\n}",
        ),
    ],
)
def test_a_schema_has_a_type(schema: dict[str, Any], expected: str) -> None:
    assert render_type(schema) == expected


@pytest.mark.parametrize("schema", [{"not": {}}, {"type": "array", "prefixItems": []}, {"type": "string", "if": {}}])
def test_a_schema_that_typescript_would_misrepresent_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no TypeScript type"):
        render_type(schema)


def test_two_types_of_one_name_are_refused_unless_they_are_the_same() -> None:
    toy = declare_type("Toy", {"type": "object", "properties": {}, "description": "A */ toy."})

    assert render_types({"Toy": toy}, {"Toy": toy}) == "\n/** A * / toy. */\nexport interface Toy {\n}\n"
    with pytest.raises(ValueError, match="two types are named 'Toy'"):
        render_types({"Toy": toy}, {"Toy": declare_type("Toy", {"type": "string"})})


class ToyView(TypedDict):
    """A toy."""

    name: str


class NamedToy(Request):
    """A toy by its id."""

    toy_id: str
    depth: int = 1


def test_an_operation_is_a_constant_with_its_types_and_the_ways_to_ask_it() -> None:
    table = Table("toys")

    @table.operation("GET /api/toys/{toy_id}", needs="Read", event="show_toy")
    async def show_toy(caller: Caller, request: NamedToy) -> ToyView | File:
        """Return a toy."""
        raise NotImplementedError

    @table.operation(needs="Read")
    async def count_toys(caller: Caller, request: NamedToy) -> ToyView:
        """Count toys, in this process alone."""
        raise NotImplementedError

    types, operations = render_operations(Registry([table]))

    assert operations.endswith(
        "/** Return a toy. Needs `Read`. */\nexport const showToy: Operation<NamedToy, ToyView | Blob> = "
        '{ method: "GET", path: "/api/toys/{toy_id}", event: "show_toy" };\n'
    )
    assert "countToys" not in operations
    assert "  toy_id: string;\n  depth?: number | undefined;\n" in types["NamedToy"]
