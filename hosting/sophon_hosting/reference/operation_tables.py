"""Tables of the operations of docs/api.md: route, permission, and what docstrings and fields say."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sophon_hosting.features.registry import REGISTRY
from sophon_hosting.operations.client import QUERY_METHODS
from sophon_hosting.operations.doc_tables import render_table
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.permission import TOKEN_ONLY
from sophon_hosting.operations.request import request_shape
from sophon_hosting.operations.table import Table
from sophon_hosting.reference.json_schemas import JsonSchema, OperationSchemas

FIELDS_OF_MANY = frozenset({"limit", "everything", "wait"})
"""Fields that the page explains once, above the tables."""


PAGES: Final[Mapping[str, str]] = {
    "attachments": "attachments.md",
    "agents": "agents.md",
    "approvals": "guards.md#approvals-in-advance",
    "goals": "goals.md",
    "guards": "guards.md",
    "imports": "importing.md",
    "learning": "learning.md",
    "mcp": "mcp.md",
    "memory": "memory.md",
    "preferences": "preferences.md",
    "providers": "models.md",
    "queue": "queues.md",
    "schedules": "schedules.md",
    "settings": "settings.md",
    "tools": "tools.md",
    "traces": "traces.md",
    "webhooks": "webhooks.md",
}
"""Page of docs/ about a feature."""


def operation_tables() -> str:
    """Return a heading and a table for each feature; the heading is a link to the page about it."""
    schemas = OperationSchemas(REGISTRY.operations)
    return "\n\n".join(_section(table, schemas) for table in REGISTRY.tables if _offered(table))


def _offered(table: Table) -> list[Operation[Any, Any]]:
    return [each for each in table.operations if each.path]


def _section(table: Table, schemas: OperationSchemas) -> str:
    name, page = table.feature.capitalize(), PAGES.get(table.feature)
    title = f"[{name}]({page})" if page else name
    rows = [
        (f"`{each.method} {each.path}`", ", ".join(map(_permission, each.needs)), _explain(each, schemas.request(each)))
        for each in _offered(table)
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
    if fields:
        names = [_name(name, each, name in request.get("required", ())) for name, each in fields.items()]
        is_query = operation.method in QUERY_METHODS or request_shape(operation.request).upload_field
        parts += [f"Query: `{'`, `'.join(names)}`." if is_query else f"Body: `{{{', '.join(names)}}}`."]
        parts += [" ".join(request.get("description", "").split()), *_sentences(fields)]
    return " ".join(filter(None, parts))


def _name(name: str, schema: JsonSchema, is_required: bool) -> str:
    default = schema.get("default")
    shown = "" if default in (None, False, "") else f" = {str(default).lower() if default is True else default}"
    return f"{name}{'' if is_required else '?'}{shown}"


def _sentences(fields: Mapping[str, JsonSchema]) -> Iterator[str]:
    for name, schema in fields.items():
        if "description" in schema and name not in FIELDS_OF_MANY:
            yield f"`{name}`: {schema['description']}"
