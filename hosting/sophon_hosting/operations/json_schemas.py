"""JSON Schemas of the requests and results of operations. For documents and descriptions: it loads pydantic."""

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from sophon_hosting.client_api.operation_reply import File, JsonLines
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import request_shape

REFERENCE_TO = "#/components/schemas/{model}"

JsonSchema = dict[str, Any]

BODY_TYPES = (File, JsonLines)
"""Results that are no JSON object."""


class OperationSchemas:
    """JSON Schemas of operations; `components` has those of named types, to which the others refer."""

    def __init__(self, operations: Iterable[Operation[Any, Any]]) -> None:
        requests = {each: request_shape(each.request).model for each in operations}
        results = {each: json_result(each.result) for each in requests}
        wanted = [
            *(((each, "request"), TypeAdapter[Any](model)) for each, model in requests.items()),
            *(((each, "result"), TypeAdapter[Any](result)) for each, result in results.items() if result is not None),
        ]
        by_key, definitions = TypeAdapter.json_schemas(
            [(cast(Any, key), "validation", adapter) for key, adapter in wanted],
            ref_template=REFERENCE_TO,
            schema_generator=_Generator,
        )
        self.components: dict[str, JsonSchema] = definitions.get("$defs", {})
        for each in self.components.values():
            each.pop("title", None)
        self._by_key = cast(Mapping[Any, JsonSchema], {key: schema for (key, _), schema in by_key.items()})

    def request(self, operation: Operation[Any, Any]) -> JsonSchema:
        """Return the schema of a request, itself and not a reference."""
        schema = self._by_key[operation, "request"]
        return self.components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def result(self, operation: Operation[Any, Any]) -> JsonSchema | None:
        """Return the schema of a result, which may be a reference; None for a file and a stream."""
        return self._by_key.get((operation, "result"))


def self_contained_schema(kind: Any) -> JsonSchema:
    """Return the schema of a type with the definitions to which it refers."""
    return TypeAdapter[Any](kind).json_schema(schema_generator=_Generator)


def json_result(result: Any) -> Any:
    """Return what is JSON of the type of a result; None if nothing is."""
    kinds = [each for each in union_members(result) if each not in BODY_TYPES]
    return Union[tuple(kinds)] if kinds else None  # noqa: UP007 - made of a list


def union_members(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def references(node: object) -> Iterator[str]:
    """Yield the names of the types to which a schema, or a structure that has schemas, refers, by itself."""
    if isinstance(node, dict):
        for key, value in cast(dict[str, object], node).items():
            if key == "$ref":
                yield str(value).rpartition("/")[2]
            else:
                yield from references(value)
    elif isinstance(node, list):
        for each in cast(list[object], node):
            yield from references(each)


class _Generator(GenerateJsonSchema):
    """Without titles of fields, which say nothing beyond their names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False
