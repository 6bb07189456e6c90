"""Errors of an operation as responses of OpenAPI: the codes that may come with each status."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from sophon.errors import InputError, NotFound, SophonError, StoreUnavailable
from sophon.settings.sections.permissions import LevelNeeded
from sophon_hosting.client_api.authentication.token_authentication import Unauthorized
from sophon_hosting.client_api.client_errors import (
    HTTP_STATUS_BY_CODE,
    BodyTimeout,
    Forbidden,
    TooLarge,
    Unavailable,
)
from sophon_hosting.client_api.rights import OPERATOR_SCOPE, ScopeNeeded
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.permission_check import TOKEN_ONLY
from sophon_hosting.operations.request import request_shape

INTERNAL: Final = "internal"

ERROR_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "An error, the same over HTTP and Socket.IO.",
    "required": ["ok", "error"],
    "properties": {
        "ok": {"const": False},
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "What is wrong, for programs."},
                "message": {"type": "string", "description": "What is wrong, for people."},
                "id": {"type": "string", "description": "Of `internal`: where the log of the host has it."},
                "retry_after_seconds": {"type": "integer", "description": "When to try again."},
                "reason": {"type": "string", "description": "Of `queue_full` and `trial_failed`: which one."},
                "waiting": {"type": "integer", "description": "Of `queue_full`: waiting tasks of the user."},
                "decided_by": {"type": "string", "description": "Of `already_decided`: the user."},
                "feature": {"type": "string", "description": "Of `level_needed`: what the level does not allow."},
                "level": {"type": ["string", "null"], "description": "Of `level_needed`: the lowest that does."},
                "scope": {"type": "string", "description": "Of `scope_needed`: what the token lacks."},
            },
        },
    },
}


def list_permissions(operation: Operation[Any, Any]) -> Sequence[str]:
    """Return the permissions that an operation may need: those of every caller, and those of single fields."""
    of_fields = (each.permission for each in request_shape(operation.request).needs.values())
    return list(dict.fromkeys([*operation.needs, *of_fields]))


def codes_by_status(operation: Operation[Any, Any]) -> dict[int, list[str]]:
    """Return the codes of the errors that may answer a request, by status, in order."""
    found: dict[int, set[str]] = {}
    for code in [INTERNAL, *(code for error in _list_errors(operation) for code in list_codes(error))]:
        found.setdefault(HTTP_STATUS_BY_CODE.get(code, 400), set()).add(code)
    return {status: sorted(codes) for status, codes in sorted(found.items())}


def list_codes(error: type[SophonError]) -> Collection[str]:
    """Return the codes of an error class: `code`, or `codes` of one whose instances have their own."""
    return getattr(error, "codes", (error.code,))


def error_response(codes: Sequence[str]) -> dict[str, Any]:
    """Return a response of OpenAPI whose error has one of these codes."""
    names = {"type": "object", "properties": {"code": {"enum": list(codes)}}}
    schema = {"allOf": [{"$ref": "#/components/schemas/Error"}, {"type": "object", "properties": {"error": names}}]}
    return {
        "description": f"Error: {', '.join(f'`{code}`' for code in codes)}.",
        "content": {"application/json": {"schema": schema}},
    }


def _list_errors(operation: Operation[Any, Any]) -> Iterable[type[SophonError]]:
    # Forbidden: of a page of another origin, and of a name in Host that is not this host's, whatever is needed.
    yield from (InputError, Unauthorized, Forbidden, StoreUnavailable, Unavailable)
    permissions = list_permissions(operation)
    if permissions:
        yield ScopeNeeded
    if any(not each.startswith(TOKEN_ONLY) and each not in ("Read", OPERATOR_SCOPE) for each in permissions):
        yield LevelNeeded
    if operation.path_fields or operation.subject is not None:
        yield NotFound
    if not operation.has_query or request_shape(operation.request).upload_field:
        yield from (BodyTimeout, TooLarge)
    yield from operation.options.errors
