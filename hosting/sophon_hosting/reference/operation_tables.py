"""Tables of the operations of docs/api.md: route, permission, and what docstrings and fields say."""

import json
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from sophon_hosting.features.registry import builtin_operations, load_builtin_features
from sophon_hosting.operations.json_schemas import JsonSchema, OperationSchemas
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.permission_check import TOKEN_ONLY
from sophon_hosting.operations.request import PERMISSION_KEY, request_shape
from sophon_hosting.reference.markdown_tables import render_table
from sophon_hosting.reference.openapi_errors import list_codes

FIELDS_OF_MANY = frozenset({"limit", "everything", "wait"})
"""Fields that the page explains once, above the tables."""


def operation_tables() -> str:
    """Return a heading and a table for each feature; the heading is a link to the page about it."""
    by_feature: dict[str, list[Operation[Any, Any]]] = {}
    for table in builtin_operations().tables:
        by_feature.setdefault(table.feature, []).extend(each for each in table.operations if each.path)
    schemas = OperationSchemas(builtin_operations().operations)
    return "\n\n".join(_section(feature, found, schemas) for feature, found in by_feature.items() if found)


def _section(feature: str, operations: Sequence[Operation[Any, Any]], schemas: OperationSchemas) -> str:
    name = "MCP servers" if feature == "mcp" else feature.capitalize()
    page = next((each.page for each in load_builtin_features() if each.name == feature), "")
    title = f"[{name}]({page})" if page else name
    rows = [
        (f"`{each.method} {each.path}`", ", ".join(map(_permission, each.needs)), _explain(each, schemas.request(each)))
        for each in operations
    ]
    return f"### {title}\n\n" + render_table(("route", "needs", ""), rows)


def _permission(permission: str) -> str:
    name = permission.removeprefix(TOKEN_ONLY)
    return f"{name} (tokens)" if permission.startswith(TOKEN_ONLY) else name


def _explain(operation: Operation[Any, Any], request: JsonSchema) -> str:
    fields: Mapping[str, JsonSchema] = {
        name: each for name, each in request.get("properties", {}).items() if name not in operation.path_fields
    }
    parts = [" ".join(operation.description.split())]
    if operation.options.status != HTTPStatus.OK:
        parts += [f"Status {operation.options.status}."]
    if operation.options.is_cacheable:
        parts += ["With an ETag."]
    is_upload = bool(request_shape(operation.request).upload_field)
    if is_upload:
        parts += ["The body is a file with the content type `application/octet-stream`."]
    if fields:
        names = [_name(name, each, name in request.get("required", ())) for name, each in fields.items()]
        parts += [f"Query: `{'`, `'.join(names)}`." if operation.has_query else f"Body: `{{{', '.join(names)}}}`."]
        parts += [" ".join(request.get("description", "").split()), *_sentences(fields)]
    codes = [code for error in operation.options.errors for code in list_codes(error)]
    if codes:
        parts += [f"Errors: `{'`, `'.join(dict.fromkeys(codes))}`."]
    return " ".join(filter(None, parts))


def _name(name: str, schema: JsonSchema, is_required: bool) -> str:
    """Return the name of a field with `?` if it may be left out, its choices if there are some, and its default."""
    default = schema.get("default")
    choices = next((each["enum"] for each in (schema, *schema.get("anyOf", ())) if "enum" in each), ())
    shown = "" if default in (None, False, "") else f" = {json.dumps(default, ensure_ascii=False)}"
    among = f": {' | '.join(map(json.dumps, choices))}" if choices else ""
    return f"{name}{'' if is_required else '?'}{among}{shown}"


def _sentences(fields: Mapping[str, JsonSchema]) -> Iterator[str]:
    for name, schema in fields.items():
        if name in FIELDS_OF_MANY:
            continue
        if "description" in schema:
            yield f"`{name}`: {schema['description']}"
        if PERMISSION_KEY in schema:
            yield f"`{name}` needs {', '.join(schema[PERMISSION_KEY])}."
