"""Requests of one user with the ids of another user's rows, in every field of every operation that takes an id."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sophon.errors import SophonError
from sophon_hosting.client_api.client_errors import to_error_payload
from sophon_hosting.client_api.scoped_session_ids import to_scoped_session_id
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import request_shape
from tests.hosting.http.api_shapes.served import PATIENCE_SECONDS
from tests.hosting.permissions.survey import Survey

OWN_LISTS = (
    "/api/sessions?limit=100&kind=all",
    "/api/tasks?limit=100",
    "/api/approvals?open_only=false",
    "/api/grants",
    "/api/goals?archived=true",
    "/api/schedules",
    "/api/attachments",
    "/api/memory",
    "/api/traces",
    "/api/trajectories",
    "/api/tools",
    "/api/preferences",
)
"""What a user has, as the user is shown it."""

ID_FIELDS = frozenset({"ids", "before", "after", "replaces", "attachments", "person", "user", "cursor"})
"""Fields beside those of paths and those that end in `_id` that name a row."""

KINDS: Mapping[str, str] = {"session_id": "session", "task_id": "task", "replaces": "task", "before": "task"}
"""Kind of the rows that a field names; one that is not here gets the ids of all kinds."""


@dataclass(frozen=True)
class Attempt:
    """One request: the fields that are its own, and the field that gets an id of another user."""

    operation: Operation[Any, Any]
    fields: Mapping[str, Any]
    field: str
    is_list: bool

    def with_id(self, row_id: str) -> dict[str, Any]:
        """Return the fields with an id in the attacked one."""
        return {**self.fields, self.field: [row_id] if self.is_list else row_id}


@dataclass(frozen=True)
class Answer:
    """Status, error without the id that was sent, and everything that was answered."""

    outcome: tuple[int, str, str]
    text: str


def list_attempts(operation: Operation[Any, Any], own_rows: Mapping[str, str]) -> Iterator[Attempt]:
    """Yield an attempt for each field of an operation that names something.

    Its other fields name rows of the attacker, by the name of the field, or are those of the example.
    """
    schema = request_shape(operation.request).model.model_json_schema()
    # Without the key of the client, with which a message is accepted once.
    base = {name: value for name, value in operation.options.example.items() if name != "client_message_id"}
    base |= {name: own_rows.get(name, "unknown") for name in operation.path_fields}
    if operation.subject is not None:
        base[operation.subject.field] = own_rows[f"{operation.subject.kind}_id"]
    for name, described in schema.get("properties", {}).items():
        if name in ID_FIELDS or name in operation.path_fields or (name.endswith("_id") and name != "client_message_id"):
            kinds = [described, *described.get("anyOf", [])]
            texts = [each for each in kinds if each.get("type") == "string"]
            lists = [each for each in kinds if each.get("type") == "array"]
            if texts or lists:
                yield Attempt(operation, base, name, not texts)


def list_foreign_ids(survey: Survey, owner: str, attempt: Attempt) -> list[str]:
    """Return the ids of an owner's rows that a field could name, as the owner and as operators know them."""
    subject = attempt.operation.subject
    kind = subject.kind if subject is not None and subject.field == attempt.field else KINDS.get(attempt.field)
    kinds = [each for each, user in survey.rows if user == owner and (kind is None or each.startswith(kind))]
    ids = {survey.rows[each, owner] for each in kinds}
    return sorted({*ids, to_scoped_session_id(survey.rows["session", owner], owner)})


def disguise(row_id: str) -> str:
    """Return an id that nothing has, with the beginning, the length and the characters of another one."""
    head, dash, rest = row_id.rpartition("-")
    return f"{head}{dash}{rest[1:]}{rest[:1]}"


async def ask(survey: Survey, user: str, operation: Operation[Any, Any], fields: dict[str, Any], row_id: str) -> Answer:
    """Send the request of an operation over HTTP; call one that only Socket.IO offers in this process."""
    if not operation.path:
        return await _call(survey, user, operation, fields, row_id)
    path = operation.path.format_map({name: fields.pop(name) for name in operation.path_fields})
    is_query = operation.method in {"GET", "DELETE"}
    given: dict[str, Any] = {"params": fields} if is_query else {"json": fields}
    response = await survey.served.send(f"{operation.method} {path}", user=user, **given)
    return _to_answer(response.status_code, response.text, row_id)


async def _call(
    survey: Survey, user: str, operation: Operation[Any, Any], fields: dict[str, Any], row_id: str
) -> Answer:
    try:
        result = await operation.call(await survey.callers.open(user), operation.request.validate(fields))
    except SophonError as error:
        refusal = to_error_payload(error)
        return _to_answer(refusal.status, json.dumps(refusal.to_json()), row_id)
    return _to_answer(200, json.dumps(result), row_id)


def _to_answer(status: int, text: str, row_id: str) -> Answer:
    error: dict[str, Any] = json.loads(text)["error"] if status >= 400 else {}
    return Answer((status, str(error.get("code")), str(error.get("message")).replace(row_id, "ID")), text)


async def list_own(survey: Survey, user: str) -> dict[str, Any]:
    """Return everything that a user has, once no turn runs; how many tools of others there are may change."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while list(survey.served.server.host.active_runs):
            await asyncio.sleep(0)
    found = {path: (await survey.served.send(f"GET {path}", user=user)).json() for path in OWN_LISTS}
    found["/api/tools"].pop("hidden")
    return found


def list_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what differs between two answers of `list_own`."""
    changes: list[str] = []
    for path, listed in before.items():
        old, new = (each.get("items", [each]) for each in (listed, after[path]))
        changes += [f"{path}: {each}" for each in [*old, *new] if each not in old or each not in new]
    return changes
