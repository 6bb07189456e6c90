"""The declared result of each route and client event, and the check that an answer is exactly of it."""

from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

import orjson
from aiohttp import web
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from sophon_hosting.client_api.operation_reply import File
from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.features.sessions.results import SessionExport

FILES: Mapping[str, Any] = {"GET /api/sessions/{session_id}/export": SessionExport}
"""Content of the files that are JSON documents, by route."""


def find_result(name: str) -> Any:
    """Return the declared result of a route, `METHOD /path/{of}/route`, or of `event NAME`. Raises KeyError."""
    kind, _, event = name.partition(" ")
    if kind == "event":
        return builtin_operations().by_event[event].result
    for each in builtin_operations().operations:
        if f"{each.method} {each.path}" == name and each.result is not File:
            return each.result
    return FILES[name]


def find_problems(result: Any, answer: Mapping[str, Any]) -> list[str]:
    """Return where an answer is not of its declared result; it may have `ok` beside that."""
    body = {name: value for name, value in answer.items() if name != "ok"}
    found = strict_validator(result).iter_errors(orjson.loads(orjson.dumps(body)))
    return [f"{each.json_path}: {each.message[:300]}" for each in found]


class ResultCheck:
    """Middleware of an application under test that compares the answers of the API with their declared results."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    @property
    def middleware(self) -> Any:
        """The middleware; `problems` has what it found."""

        @web.middleware
        async def check(request: web.Request, handler: Any) -> web.StreamResponse:
            response: web.StreamResponse = await handler(request)
            resource = request.match_info.route.resource
            if isinstance(response, web.Response) and resource is not None and response.text and response.status < 300:
                name = f"{request.method} {resource.canonical}"
                if response.content_type == "application/json" and " /api/" in name:
                    found = find_problems(find_result(name), orjson.loads(response.text))
                    self.problems += [f"{name} :: {each}" for each in found]
            return response

        return check


@cache
def strict_validator(result: Any) -> Draft202012Validator:
    """Return a validator of a declared result that refuses every field that is not declared."""
    return Draft202012Validator(_close_objects(TypeAdapter(result).json_schema()))


def _close_objects(schema: Any) -> Any:
    if isinstance(schema, dict):
        closed = {name: _close_objects(each) for name, each in schema.items()}
        if schema.get("type") == "object" and "properties" in schema:
            closed["additionalProperties"] = False
        return closed
    return [_close_objects(each) for each in schema] if isinstance(schema, list) else schema


def list_declared(module: ModuleType) -> dict[str, Any]:
    """Return the TypedDicts that a module declares, by name."""
    return {
        name: each
        for name, each in vars(module).items()
        if isinstance(each, type)
        and each.__module__ == module.__name__
        and hasattr(each, "__get_pydantic_core_schema__")
    }
