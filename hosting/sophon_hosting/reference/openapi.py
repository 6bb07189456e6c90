"""OpenAPI document of the operations that HTTP offers, with their schemas, errors, examples and permissions."""

import json
from collections.abc import Mapping
from typing import Any, Final

from sophon._version import __version__
from sophon_hosting.client_api.operation_reply import File, JsonLines
from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.http.openapi_other_paths import OTHER_PATHS
from sophon_hosting.operations.json_schemas import JsonSchema, OperationSchemas, references, union_members
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.permission_check import describe_permissions
from sophon_hosting.operations.request import PERMISSION_KEY, request_shape
from sophon_hosting.operations.table import Registry
from sophon_hosting.reference.openapi_errors import ERROR_SCHEMA, codes_by_status, error_response

INTRODUCTION: Final = (
    "What clients may ask of a Sophon host. Unknown and repeated fields are errors, and one response lists all "
    "problems of a request. What belongs to other users is answered like what does not exist. On a host without users "
    "no token is needed."
)

OK_SCHEMA: Final[JsonSchema] = {
    "type": "object",
    "description": "What every answer over Socket.IO has, and those of some operations over HTTP.",
    "required": ["ok"],
    "properties": {"ok": {"const": True}},
}


def build_document(
    registry: Registry, version: str, other_paths: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return an OpenAPI 3.1 document of the operations, and of paths that are no operations."""
    offered = [each for each in registry.operations if each.path]
    tags = {each: table.feature for table in registry.tables for each in table.operations}
    builder = _PathBuilder(OperationSchemas(offered))
    paths: dict[str, dict[str, Any]] = {}
    for each in offered:
        paths.setdefault(each.path, {})[each.method.lower()] = builder.build(each, tags[each])
    for path, item in (other_paths or {}).items():
        paths[path] = {**paths.get(path, {}), **item}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sophon", "version": version, "description": INTRODUCTION},
        "tags": [{"name": each} for each in dict.fromkeys(tags.values())],
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": dict(sorted(builder.responses.items())),
            "schemas": dict(sorted(_list_used(paths, builder.schemas).items())),
        },
    }


def render_document() -> str:
    """Return the document of this version, as the file holds it."""
    return (
        json.dumps(build_document(builtin_operations(), __version__, OTHER_PATHS), indent=1, ensure_ascii=False) + "\n"
    )


class _PathBuilder:
    """Builds the operations of paths; `schemas` and `responses` are the components to which these refer."""

    def __init__(self, schemas: OperationSchemas) -> None:
        self._operations = schemas
        self.schemas: dict[str, JsonSchema] = {
            **schemas.components,
            "Error": dict(ERROR_SCHEMA),
            "Ok": OK_SCHEMA,
        }
        self.responses: dict[str, dict[str, Any]] = {}

    def build(self, operation: Operation[Any, Any], tag: str) -> dict[str, Any]:
        """Return the operation of a path."""
        request = self._operations.request(operation)
        properties: Mapping[str, JsonSchema] = request.get("properties", {})
        required = frozenset(request.get("required", ()))
        is_upload = bool(request_shape(operation.request).upload_field)
        built: dict[str, Any] = {
            "operationId": operation.name,
            "tags": [tag],
            "summary": operation.summary,
            "description": f"{' '.join(operation.description.split())}\n\n{describe_permissions(operation.needs)}",
            PERMISSION_KEY: list(operation.needs),
            "parameters": [
                _parameter(name, schema, operation, is_required=name in required)
                for name, schema in properties.items()
                if operation.has_query or name in operation.path_fields
            ],
        }
        if is_upload:
            built["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": {}}}}
        elif not operation.has_query:
            built["requestBody"] = self._body(operation, request)
        built["responses"] = self._responses(operation)
        return built

    def _body(self, operation: Operation[Any, Any], request: JsonSchema) -> dict[str, Any]:
        in_path = frozenset(operation.path_fields)
        fields = {name: each for name, each in request.get("properties", {}).items() if name not in in_path}
        required = [name for name in request.get("required", ()) if name not in in_path]
        name = operation.request.__name__
        content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{name}"}}
        if in_path or name not in self.schemas:
            schema = {key: value for key, value in request.items() if key != "required"}
            content["schema"] = schema | {"properties": fields} | ({"required": required} if required else {})
        if example := {name: value for name, value in operation.options.example.items() if name in fields}:
            content["example"] = example
        return {"required": bool(required), "content": {"application/json": content}}

    def _responses(self, operation: Operation[Any, Any]) -> dict[str, Any]:
        success: dict[str, Any] = {"description": "Success.", "content": self._content(operation)}
        found = {str(status): success for status in (operation.options.status, *operation.options.statuses)}
        if operation.options.is_cacheable:
            success["headers"] = {"ETag": {"schema": {"type": "string"}}}
            found["304"] = {"description": "The client has this version, by the ETag in `If-None-Match`."}
        for status, codes in codes_by_status(operation).items():
            name = f"{status}.{'.'.join(codes)}"
            self.responses[name] = error_response(codes)
            found[str(status)] = {"$ref": f"#/components/responses/{name}"}
        return dict(sorted(found.items()))

    def _content(self, operation: Operation[Any, Any]) -> dict[str, Any]:
        kinds, content = union_members(operation.result), dict[str, Any]()
        schema = self._operations.result(operation)
        if schema is not None:
            if operation.options.ok:
                schema = {"allOf": [{"$ref": "#/components/schemas/Ok"}, schema]}
            content["application/json"] = {"schema": schema}
        if File in kinds:
            content["*/*"] = {"schema": {}}
        if JsonLines in kinds:
            content["application/x-ndjson"] = {"schema": {}}
        return content


def _parameter(name: str, schema: JsonSchema, operation: Operation[Any, Any], *, is_required: bool) -> dict[str, Any]:
    """Return a parameter of path or query, where there is no null: what is left out has none."""
    schema = _without_null(schema)
    in_path = name in operation.path_fields
    found: dict[str, Any] = {"name": name, "in": "path" if in_path else "query"}
    if description := schema.pop("description", ""):
        found["description"] = description
    if in_path or is_required:
        found["required"] = True
    if in_path and schema.get("type") == "string":
        schema.setdefault("minLength", 1)
    if schema.get("type") == "array":
        found["explode"] = False
    if PERMISSION_KEY in schema:
        found[PERMISSION_KEY] = schema.pop(PERMISSION_KEY)
    if name in operation.options.example:
        found["example"] = operation.options.example[name]
    return found | {"schema": schema}


def _without_null(schema: JsonSchema) -> JsonSchema:
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    if len(kinds) == 1:
        return {**kinds[0], **rest}
    return {**rest, "anyOf": kinds} if kinds else rest


def _list_used(paths: object, schemas: Mapping[str, JsonSchema]) -> dict[str, JsonSchema]:
    """Return the schemas to which paths refer, also by other schemas: those of parameters stand in the paths."""
    found: dict[str, JsonSchema] = {"Error": schemas["Error"]}
    waiting = list(references(paths))
    while waiting:
        name = waiting.pop()
        if name not in found and name in schemas:
            found[name] = schemas[name]
            waiting += references(schemas[name])
    return found
