"""The OpenAPI document: valid, complete, with what each operation declares."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from sophon._python.lazy_typed_dict import TypedDict
from sophon._python.value_rules import ValueRules
from sophon.errors import IllegalTransition
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.http.openapi_other_paths import OTHER_PATHS
from sophon_hosting.http.openapi_route import DOCUMENT
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Doc, Needs, Request
from sophon_hosting.operations.table import Registry, Table
from sophon_hosting.reference.openapi import build_document, render_document

WHOLE = build_document(builtin_operations(), "1.0", OTHER_PATHS)


class Change(Request):
    """A change of a thing."""

    thing_id: str
    size: Annotated[int, ValueRules(ge=1), Doc("How large it is.")]
    model: Annotated[str | None, Needs("ChooseModel")] = None


class Changed(TypedDict):
    """What became of the thing."""

    size: int
    model: str | None


def a_document() -> dict[str, Any]:
    table = Table("things")

    @table.operation(
        "PUT /api/things/{thing_id}",
        needs="Chat",
        ok=True,
        status=202,
        errors=(IllegalTransition,),
        example={"thing_id": "t1", "size": 3},
    )
    async def change_thing(caller: Caller, request: Change) -> Changed:
        """Change a thing."""
        return {"size": request.size, "model": request.model}

    return build_document(Registry([table]), "1.0")


def test_the_file_is_the_document_of_this_version() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render_document(), "run `make generate`"


def test_the_document_is_valid_with_all_its_references() -> None:
    validate(WHOLE)
    names = {kind: WHOLE["components"][kind].keys() for kind in ("schemas", "responses")}
    dangling = [each for each in references(WHOLE) if each[2] not in names[each[1]]]
    assert dangling == []


@pytest.mark.parametrize(
    "operation", [each for each in builtin_operations().operations if each.path], ids=lambda each: each.name
)
def test_every_operation_has_valid_schemas_a_permission_and_an_example_that_fits(
    operation: Operation[Any, Any],
) -> None:
    found = WHOLE["paths"][operation.path][operation.method.lower()]
    assert found["operationId"] == operation.name
    assert found["summary"].endswith(".")
    assert found["x-permission"] == list(operation.needs)
    assert {each["name"] for each in found.get("parameters", ()) if each["in"] == "path"} == set(operation.path_fields)
    for schema in schemas(found):
        Draft202012Validator.check_schema({**schema, "components": WHOLE["components"]})
    if example := operation.options.example:
        operation.request.validate(dict.fromkeys(operation.path_fields, "id") | dict(example))


def test_fields_of_the_path_are_no_fields_of_the_body() -> None:
    operation = a_document()["paths"]["/api/things/{thing_id}"]["put"]
    content = operation["requestBody"]["content"]["application/json"]
    assert content["schema"]["properties"] == {
        "size": {"type": "integer", "minimum": 1, "description": "How large it is."},
        "model": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "default": None,
            "x-permission": ["ChooseModel"],
        },
    }
    assert content["schema"]["required"] == ["size"]
    assert content["example"] == {"size": 3}
    assert operation["parameters"] == [
        {
            "name": "thing_id",
            "in": "path",
            "required": True,
            "example": "t1",
            "schema": {"type": "string", "minLength": 1},
        }
    ]


def test_each_status_has_the_codes_that_may_come_with_it() -> None:
    document = a_document()
    responses = document["paths"]["/api/things/{thing_id}"]["put"]["responses"]
    assert list(responses) == ["202", "400", "401", "403", "404", "408", "409", "413", "500", "503"]
    conflict = document["components"]["responses"][responses["409"]["$ref"].rpartition("/")[2]]
    schema = conflict["content"]["application/json"]["schema"]
    check = Draft202012Validator({**schema, "components": document["components"]})
    assert check.is_valid({"ok": False, "error": {"code": "illegal_transition", "message": "no"}})
    assert not check.is_valid({"ok": False, "error": {"code": "busy", "message": "no"}})


def references(node: Any) -> Iterator[tuple[str, ...]]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield tuple(value.removeprefix("#/").split("/"))
            else:
                yield from references(value)
    elif isinstance(node, list):
        for each in node:
            yield from references(each)


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "schema":
                yield value
            else:
                yield from schemas(value)
    elif isinstance(node, list):
        for each in node:
            yield from schemas(each)
